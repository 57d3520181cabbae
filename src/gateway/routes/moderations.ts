import type { Deadline } from '../../core/async.ts';
import type { RequestBodies } from '../../core/http/request-bodies.ts';
import { jsonTextResponse } from '../../core/http/response.ts';
import type { ItemVerdict, Moderate } from '../judge/moderate.ts';
import type { GatewayMetrics } from '../metrics.ts';
import { DEFAULT_ALIAS, type FindAlias, type ModelAlias } from '../models.ts';
import { forEachPolicy, type Policy, type PolicySelection } from '../policy/policy.ts';
import { isBlank } from '../text/normalize.ts';
import type { Callers } from './callers.ts';
import type { AnswerWithin } from './deadline.ts';
import type { NoVerdict } from './no-verdict.ts';
import type { RequestObserver, VerdictRoute } from './observer.ts';
import type { ReadInput } from './read-input.ts';
import { countResults, type ParsedItem, parseOuterFields } from './request.ts';
import { createResultWriter, moderationJson } from './result.ts';
import { listed, verdictHeaders } from './verdict-headers.ts';

type ModerationRouteNeeds = {
  readonly answerWithin: AnswerWithin;
  readonly callers: Callers;
  readonly findAlias: FindAlias;
  readonly policies: PolicySelection;
  readonly moderateBy: (policy: Policy) => Moderate;
  readonly metrics: GatewayMetrics;
  readonly newId: () => string;
  readonly bodies: Pick<RequestBodies, 'readJson'>;
  readonly readInput: ReadInput;
  /** Called with each request, so that it can answer in place of an error. */
  readonly noVerdict: Pick<NoVerdict, 'admit' | 'describe'>;
};

type Asking = {
  readonly keyIndex: number;
  readonly deadline: Deadline;
  readonly observer: RequestObserver | undefined;
};
type ParsedRequest = { readonly alias: ModelAlias; readonly policy: Policy; readonly items: readonly ParsedItem[] };

/** `POST /v1/moderations`: one result for each input, in order, or one error for all of them. */
export const createModerationRoute = (needs: ModerationRouteNeeds): VerdictRoute => {
  const { answerWithin, callers, findAlias, policies, metrics } = needs;
  const judgeOf = forEachPolicy(policies, (policy) => ({
    moderate: needs.moderateBy(policy),
    writeResult: createResultWriter(policy),
  }));

  const parseRequest = async (request: Request, { keyIndex, deadline, observer }: Asking): Promise<ParsedRequest> => {
    const { model = DEFAULT_ALIAS, input } = parseOuterFields(await needs.bodies.readJson(request, deadline.signal));
    const alias = findAlias(model);
    const policy = policies.select(alias.alias, keyIndex);
    observer?.describe(alias.alias);
    needs.noVerdict.describe(request, { alias: alias.alias, inputs: countResults(input), policy });
    return { alias, policy, items: await needs.readInput(input, alias, deadline.signal) };
  };

  const respond = ({ alias, policy, items }: ParsedRequest, verdicts: readonly ItemVerdict[]): Response => {
    const { writeResult } = judgeOf(policy);
    const results = items.map((item, index) => {
      const verdict = verdicts[index];
      if (verdict === undefined) throw new TypeError('An item without a verdict');
      const judged = { text: !isBlank(item.text), image: item.image !== undefined };
      const result = writeResult(verdict.scores, judged, verdict.scoreTypes);
      metrics.verdict({ alias: alias.alias, isFlagged: result.isFlagged, isCached: verdict.isCached });
      return result;
    });
    return jsonTextResponse(200, moderationJson(`modr-${needs.newId()}`, alias.alias, results), {
      ...verdictHeaders(alias, policy, verdicts),
      'x-moderation-unjudged': listed(items.flatMap(({ unjudged }) => unjudged)),
    });
  };

  return async (request, observer) => {
    const caller = await callers.identify(request);
    needs.noVerdict.admit(request, policies.select(DEFAULT_ALIAS, caller.keyIndex));
    await callers.count(caller);
    return answerWithin(request, async (deadline) => {
      const parsed = await parseRequest(request, { keyIndex: caller.keyIndex, deadline, observer });
      const { moderate } = judgeOf(parsed.policy);
      const verdicts = await moderate(parsed.items, parsed.alias, { ...deadline, owner: caller.owner });
      observer?.judged({ policy: parsed.policy, verdicts });
      return respond(parsed, verdicts);
    });
  };
};
