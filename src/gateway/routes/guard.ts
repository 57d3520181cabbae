import type { Clock } from '../../core/clock.ts';
import type { RequestBodies } from '../../core/http/request-bodies.ts';
import { jsonTextResponse } from '../../core/http/response.ts';
import { chatCompletionEvents, chatCompletionJson, guardContent, scoresContent } from '../guard/answer.ts';
import { type AnswerForm, answerFormOf } from '../guard/answer-form.ts';
import { asUnjudged, guardTexts, parseGuardRequest } from '../guard/request.ts';
import { guardVerdict } from '../guard/verdict.ts';
import type { Moderate } from '../judge/moderate.ts';
import type { GatewayMetrics } from '../metrics.ts';
import type { FindAlias, ModelAlias } from '../models.ts';
import { type CategoryScores, highestScores } from '../policy/categories.ts';
import { forEachPolicy, type Policy, type PolicySelection, withGuardCategories } from '../policy/policy.ts';
import type { Callers } from './callers.ts';
import type { AnswerWithin } from './deadline.ts';
import type { NoVerdict } from './no-verdict.ts';
import type { VerdictRoute } from './observer.ts';
import { createResultWriter } from './result.ts';
import { verdictHeaders } from './verdict-headers.ts';

type GuardRouteNeeds = {
  readonly clock: Clock;
  readonly answerWithin: AnswerWithin;
  readonly callers: Callers;
  readonly findAlias: FindAlias;
  readonly policies: PolicySelection;
  readonly moderateBy: (policy: Policy) => Moderate;
  readonly metrics: Pick<GatewayMetrics, 'verdict'>;
  readonly newId: () => string;
  readonly bodies: Pick<RequestBodies, 'readJson'>;
  readonly limits: { readonly inputs: number; readonly chars: number };
  /** Answers in place of an error where a chat asks for scores: its clients pass what they get an error for. */
  readonly noVerdict: Pick<NoVerdict, 'describe'>;
};

const NO_AGENT = 'This path judges chats; for answers of an agent, give the client the address of the bridge';

/** What a guard says of texts by their scores: whether it is a violation, and the content of the answer. */
type Saying = (texts: readonly CategoryScores[]) => { readonly isFlagged: boolean; readonly content: string };

/**
 * `POST /v1/chat/completions`: the guard face. It answers like a guard model, for aliases that have a form for it. What has no
 * verdict is an error, 5xx wherever another service may have one: it is never answered as safe.
 */
export const createGuardRoute = (needs: GuardRouteNeeds): VerdictRoute => {
  const { clock, answerWithin, callers, findAlias, policies, metrics } = needs;
  const judgedAs = (judged: Policy) => ({ judged, moderate: needs.moderateBy(judged) });
  const guardOf = forEachPolicy(policies, (policy) => judgedAs(withGuardCategories(policy)));
  const scorerOf = forEachPolicy(policies, judgedAs);

  const sayingBy = (policy: Policy, form: AnswerForm): Saying => {
    if (form.kind === 'scores')
      return (texts) => {
        const scores = highestScores(texts, policy.categories.length);
        const { isFlagged } = createResultWriter(policy)(scores, { text: true, image: false });
        return { isFlagged, content: scoresContent(isFlagged, scores) };
      };
    return (texts) => {
      const verdict = guardVerdict(policy, texts);
      return { isFlagged: verdict.safety === 'Unsafe', content: guardContent(verdict, form) };
    };
  };

  const respond = (
    content: string,
    { alias }: ModelAlias,
    isStreamed: boolean,
    headers: Readonly<Record<string, string>>,
  ): Response => {
    const answer = {
      id: `chatcmpl-${needs.newId()}`,
      createdSeconds: Math.floor(clock.now() / 1000),
      model: alias,
      content,
    };
    if (!isStreamed) return jsonTextResponse(200, chatCompletionJson(answer), headers);
    const type = { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' };
    return new Response(chatCompletionEvents(answer), { status: 200, headers: { ...headers, ...type } });
  };

  return async (request, observer) => {
    const caller = await callers.identify(request);
    await callers.count(caller);
    return answerWithin(request, async (deadline) => {
      const body = await needs.bodies.readJson(request, deadline.signal).catch((error: unknown) => {
        throw asUnjudged(error);
      });
      const asked = parseGuardRequest(body);
      const alias = findAlias(asked.model, NO_AGENT);
      observer?.describe(alias.alias);
      const form = answerFormOf(alias, asked.response_format);
      const policy = policies.select(alias.alias, caller.keyIndex);
      const judge = (form.kind === 'scores' ? scorerOf : guardOf)(policy);
      const say = sayingBy(judge.judged, form);
      const reply = (content: string, headers: Readonly<Record<string, string>>): Response =>
        respond(content, alias, asked.stream === true, headers);
      if (form.kind === 'scores')
        needs.noVerdict.describe(request, {
          alias: alias.alias,
          inputs: 1,
          policy,
          respond: (scores, headers) => reply(say([scores]).content, headers),
        });
      const texts = guardTexts(asked, form, needs.limits);
      const items = texts.map((text) => ({ text }));
      const verdicts = await judge.moderate(items, alias, { ...deadline, owner: caller.owner });
      if (verdicts.length !== texts.length) throw new TypeError('A text without a verdict');
      observer?.judged({ policy: judge.judged, verdicts });
      const { isFlagged, content } = say(verdicts.map(({ scores }) => scores));
      const isCached = verdicts.every((verdict) => verdict.isCached);
      metrics.verdict({ alias: alias.alias, isFlagged, isCached });
      return reply(content, verdictHeaders(alias, policy, verdicts));
    });
  };
};
