import type { Clock } from '../../core/clock.ts';
import type { RequestBodies } from '../../core/http/request-bodies.ts';
import { jsonTextResponse } from '../../core/http/response.ts';
import { chatCompletionEvents, chatCompletionJson, guardContent } from '../guard/answer.ts';
import { asUnjudged, guardFormOf, guardTexts, parseGuardRequest } from '../guard/request.ts';
import { guardVerdict, withGuardCategories } from '../guard/verdict.ts';
import type { Moderate } from '../judge/moderate.ts';
import type { GatewayMetrics } from '../metrics.ts';
import type { FindAlias } from '../models.ts';
import type { Policy, PolicySelection } from '../policy/policy.ts';
import type { Callers } from './callers.ts';
import { answerWithin } from './deadline.ts';
import { verdictHeaders } from './verdict-headers.ts';

type GuardRouteNeeds = {
  readonly clock: Clock;
  readonly callers: Callers;
  readonly findAlias: FindAlias;
  readonly policies: PolicySelection;
  readonly moderateBy: (policy: Policy) => Moderate;
  readonly metrics: Pick<GatewayMetrics, 'verdict'>;
  readonly newId: () => string;
  readonly deadlineMs: number;
  readonly bodies: Pick<RequestBodies, 'readJson'>;
  readonly limits: { readonly inputs: number; readonly chars: number };
};

/**
 * `POST /v1/chat/completions`: the guard face. It answers like a guard model, for aliases that have a form for it. What has no
 * verdict is an error, 5xx wherever another service may have one: it is never answered as safe.
 */
export const createGuardRoute = (needs: GuardRouteNeeds) => {
  const { clock, callers, findAlias, policies, metrics } = needs;
  const judges = new Map(
    policies.policies.map((policy) => {
      const judged = withGuardCategories(policy);
      return [policy, { judged, moderate: needs.moderateBy(judged) }];
    }),
  );

  return async (request: Request): Promise<Response> => {
    const caller = await callers.identify(request);
    await callers.count(caller);
    return answerWithin(request, { clock, limitMs: needs.deadlineMs }, async (deadline) => {
      const body = await needs.bodies.readJson(request, deadline.signal).catch((error: unknown) => {
        throw asUnjudged(error);
      });
      const asked = parseGuardRequest(body);
      const alias = findAlias(asked.model);
      const form = guardFormOf(alias);
      const texts = guardTexts(asked, form, needs.limits);
      const policy = policies.select(alias.alias, caller.keyIndex);
      const judge = judges.get(policy);
      if (judge === undefined) throw new TypeError(`Nothing judges by the policy ${policy.version}`);
      const items = texts.map((text) => ({ text }));
      const verdicts = await judge.moderate(items, alias, { ...deadline, owner: caller.owner });
      if (verdicts.length !== texts.length) throw new TypeError('A text without a verdict');
      const verdict = guardVerdict(
        judge.judged,
        verdicts.map(({ scores }) => scores),
      );
      metrics.verdict({
        alias: alias.alias,
        isFlagged: verdict.safety === 'Unsafe',
        isCached: verdicts.every(({ isCached }) => isCached),
      });
      const answer = {
        id: `chatcmpl-${needs.newId()}`,
        createdSeconds: Math.floor(clock.now() / 1000),
        model: alias.alias,
        content: guardContent(verdict, form),
      };
      const headers = verdictHeaders(alias, policy, verdicts);
      if (asked.stream !== true) return jsonTextResponse(200, chatCompletionJson(answer), headers);
      const type = { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' };
      return new Response(chatCompletionEvents(answer), { status: 200, headers: { ...headers, ...type } });
    });
  };
};
