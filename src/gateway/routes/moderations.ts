import { jsonTextResponse } from '../../core/http/response.ts';
import type { ItemVerdict } from '../judge/types.ts';
import { DEFAULT_ALIAS, type ModelAlias } from '../models.ts';
import { forEachPolicy, type Policy } from '../policy/policy.ts';
import { isBlank } from '../text/normalize.ts';
import type { KnownRequest } from './no-verdict.ts';
import type { VerdictRoute } from './observer.ts';
import type { RouteParts } from './parts.ts';
import { countResults, type ParsedItem, parseOuterFields } from './request.ts';
import { createResultWriter, moderationJson } from './result.ts';
import { listed, verdictHeaders } from './verdict-headers.ts';

type ParsedRequest = { readonly alias: ModelAlias; readonly policy: Policy; readonly items: readonly ParsedItem[] };

/** `POST /v1/moderations`: one result for each input, in order, or one error for all of them. */
export const createModerationRoute = (parts: RouteParts): VerdictRoute => {
  const { answerWithin, callers, policies, metrics } = parts;
  const judgeOf = forEachPolicy(policies, (policy) => ({
    moderate: parts.moderateBy(policy),
    writeResult: createResultWriter(policy),
  }));

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
    return jsonTextResponse(200, moderationJson(`modr-${parts.newId()}`, alias.alias, results), {
      ...verdictHeaders(alias, policy, verdicts),
      'x-moderation-unjudged': listed(items.flatMap(({ unjudged }) => unjudged)),
    });
  };

  return async (request, observer) => {
    const caller = await callers.identify(request);
    let known: KnownRequest = {
      alias: DEFAULT_ALIAS,
      inputs: 1,
      policy: policies.select(DEFAULT_ALIAS, caller.keyIndex),
    };
    try {
      await callers.count(caller);
      return await answerWithin(request, async (deadline) => {
        const body = await parts.bodies.readJson(request, deadline.signal);
        const { model = DEFAULT_ALIAS, input } = parseOuterFields(body);
        const alias = parts.findAlias(model);
        const policy = policies.select(alias.alias, caller.keyIndex);
        observer?.describe(alias.alias);
        known = { alias: alias.alias, inputs: countResults(input), policy };
        const items = await parts.readInput(input, alias, deadline.signal);
        const verdicts = await judgeOf(policy).moderate(items, alias, { ...deadline, owner: caller.owner });
        observer?.judged({ policy, verdicts });
        return respond({ alias, policy, items }, verdicts);
      });
    } catch (error) {
      throw parts.noVerdict(error, known);
    }
  };
};
