import { jsonTextResponse } from '../../../core/http/response.ts';
import type { ModelAlias } from '../../models.ts';
import { type CategoryScores, highestScores } from '../../policy/categories.ts';
import { forEachPolicy, type Policy, withGuardCategories } from '../../policy/policy.ts';
import type { KnownRequest } from '../no-verdict.ts';
import type { VerdictRoute } from '../observer.ts';
import type { RouteParts } from '../parts.ts';
import { createResultWriter } from '../result.ts';
import { verdictHeaders } from '../verdict-headers.ts';
import { chatCompletionEvents, chatCompletionJson, guardContent, scoresContent } from './answer.ts';
import { type AnswerForm, answerFormOf } from './answer-form.ts';
import { asUnjudged, guardTexts, parseGuardRequest } from './request.ts';
import { guardVerdict } from './verdict.ts';

const NO_AGENT = 'This path judges chats; for answers of an agent, give the client the address of the bridge';

/** Writes the content of the answer from the scores of the texts, and whether they are a violation. */
type WriteContent = (texts: readonly CategoryScores[]) => { readonly isFlagged: boolean; readonly content: string };

const contentWriter = (policy: Policy, form: AnswerForm): WriteContent => {
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

/**
 * `POST /v1/chat/completions`: the guard face. It answers like a guard model, for aliases that have a form for it. What has no
 * verdict is an error, 5xx wherever another service may have one: it is never answered as safe.
 */
export const createGuardFaceRoute = (parts: RouteParts): VerdictRoute => {
  const { clock, answerWithin, callers, policies } = parts;
  const judgedAs = (judged: Policy) => ({ judged, moderate: parts.moderateBy(judged) });
  const guardOf = forEachPolicy(policies, (policy) => judgedAs(withGuardCategories(policy)));
  const scorerOf = forEachPolicy(policies, judgedAs);

  const respond = (
    content: string,
    { alias }: ModelAlias,
    isStreamed: boolean,
    headers: Readonly<Record<string, string>>,
  ): Response => {
    const answer = {
      id: `chatcmpl-${parts.newId()}`,
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
    // Only of a chat that asks for scores: the other clients try another service on an error.
    let known: KnownRequest | undefined;
    try {
      return await answerWithin(request, async (deadline) => {
        const body = await parts.bodies.readJson(request, deadline.signal).catch((error: unknown) => {
          throw asUnjudged(error);
        });
        const asked = parseGuardRequest(body);
        const alias = parts.findAlias(asked.model, NO_AGENT);
        observer?.describe(alias.alias);
        const form = answerFormOf(alias, asked.response_format);
        const policy = policies.select(alias.alias, caller.keyIndex);
        const judge = (form.kind === 'scores' ? scorerOf : guardOf)(policy);
        const writeContent = contentWriter(judge.judged, form);
        const reply = (content: string, headers: Readonly<Record<string, string>>): Response =>
          respond(content, alias, asked.stream === true, headers);
        if (form.kind === 'scores')
          known = {
            alias: alias.alias,
            inputs: 1,
            policy,
            respond: (scores, headers) => reply(writeContent([scores]).content, headers),
          };
        const texts = guardTexts(asked, form, parts.inputRules.limits);
        const items = texts.map((text) => ({ text }));
        const verdicts = await judge.moderate(items, alias, { ...deadline, owner: caller.owner });
        if (verdicts.length !== texts.length) throw new TypeError('A text without a verdict');
        observer?.judged({ policy: judge.judged, verdicts });
        const { isFlagged, content } = writeContent(verdicts.map(({ scores }) => scores));
        const isCached = verdicts.every((verdict) => verdict.isCached);
        parts.metrics.verdict({ alias: alias.alias, isFlagged, isCached });
        return reply(content, verdictHeaders(alias, policy, verdicts));
      });
    } catch (error) {
      throw parts.noVerdict(error, known);
    }
  };
};
