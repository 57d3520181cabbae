import { type Deadline, untilAborted } from '../../core/async.ts';
import type { Clock } from '../../core/clock.ts';
import { Fault } from '../../core/fault.ts';
import type { RequestBodies } from '../../core/http/request-bodies.ts';
import { jsonTextResponse } from '../../core/http/response.ts';
import type { FindModelTraits } from '../../llm/model-traits.ts';
import type { GatewayFault } from '../errors.ts';
import { unseenReason } from '../fitness.ts';
import type { ItemVerdict, Moderate } from '../judge/moderate.ts';
import type { GatewayMetrics } from '../metrics.ts';
import { DEFAULT_ALIAS, type FindAlias, judgesOf, type ModelAlias, takesImages } from '../models.ts';
import type { Policy, PolicySelection } from '../policy/policy.ts';
import { isBlank } from '../text/normalize.ts';
import type { Callers } from './callers.ts';
import { answerWithin } from './deadline.ts';
import type { NoVerdict } from './no-verdict.ts';
import { countResults, type InputRules, type ParsedItem, parseModerationItems, parseOuterFields } from './request.ts';
import { createResultWriter, moderationJson } from './result.ts';
import { listed, verdictHeaders } from './verdict-headers.ts';

const NO_VISION = 'This model judges no images: use an alias with "vision": true, or send only texts';

type ModerationRouteNeeds = {
  readonly clock: Clock;
  readonly findTraits: FindModelTraits;
  readonly callers: Callers;
  readonly findAlias: FindAlias;
  readonly policies: PolicySelection;
  readonly moderateBy: (policy: Policy) => Moderate;
  readonly metrics: GatewayMetrics;
  readonly newId: () => string;
  readonly deadlineMs: number;
  readonly bodies: Pick<RequestBodies, 'readJson'>;
  readonly rules: Pick<InputRules, 'limits' | 'unjudged'>;
  /** Called with each request, so that it can answer in place of an error. */
  readonly noVerdict: Pick<NoVerdict, 'admit' | 'describe'>;
};

type ParsedRequest = { readonly alias: ModelAlias; readonly policy: Policy; readonly items: readonly ParsedItem[] };

/** `POST /v1/moderations`: one result for each input, in order, or one error for all of them. */
export const createModerationRoute = (needs: ModerationRouteNeeds) => {
  const { clock, callers, findAlias, policies, metrics } = needs;
  const judges = new Map(
    policies.policies.map((policy) => [
      policy,
      { moderate: needs.moderateBy(policy), writeResult: createResultWriter(policy) },
    ]),
  );
  const judgeOf = (policy: Policy) => {
    const judge = judges.get(policy);
    if (judge === undefined) throw new TypeError(`Nothing judges by the policy ${policy.version}`);
    return judge;
  };

  /** Why one of the alias's models that are sent images sees none, as its server says. Ollama leaves out such an image, and answers all the same. */
  const findUnseen = async (alias: ModelAlias, signal: AbortSignal): Promise<string | undefined> => {
    for (const judge of judgesOf(alias).filter(({ vision }) => vision === true)) {
      const traits = await untilAborted(needs.findTraits(judge.model), signal);
      const reason = 'it could not be asked whether its model sees images';
      if (traits === undefined) throw new Fault<GatewayFault>({ kind: 'backend-error', reason });
      const unseen = unseenReason(judge, traits);
      if (unseen !== undefined) return `This model judges no images: ${unseen}`;
    }
    return undefined;
  };

  const parseRequest = async (request: Request, keyIndex: number, deadline: Deadline): Promise<ParsedRequest> => {
    const { model = DEFAULT_ALIAS, input } = parseOuterFields(await needs.bodies.readJson(request, deadline.signal));
    const alias = findAlias(model);
    const policy = policies.select(alias.alias, keyIndex);
    needs.noVerdict.describe(request, { alias: alias.alias, inputs: countResults(input), policy });
    const blind = takesImages(alias) ? undefined : NO_VISION;
    const items = parseModerationItems(input, { ...needs.rules, unseen: blind });
    if (items.every(({ image }) => image === undefined)) return { alias, policy, items };
    const unseen = await findUnseen(alias, deadline.signal);
    const rest = unseen === undefined ? items : parseModerationItems(input, { ...needs.rules, unseen });
    return { alias, policy, items: rest };
  };

  const respond = ({ alias, policy, items }: ParsedRequest, verdicts: readonly ItemVerdict[]): Response => {
    const { writeResult } = judgeOf(policy);
    const results = items.map((item, index) => {
      const verdict = verdicts[index];
      if (verdict === undefined) throw new TypeError('An item without a verdict');
      const judged = { text: !isBlank(item.text), image: item.image !== undefined };
      const result = writeResult(verdict.scores, judged);
      metrics.verdict({ alias: alias.alias, isFlagged: result.isFlagged, isCached: verdict.isCached });
      return result;
    });
    return jsonTextResponse(200, moderationJson(`modr-${needs.newId()}`, alias.alias, results), {
      ...verdictHeaders(alias, policy, verdicts),
      'x-moderation-unjudged': listed(items.flatMap(({ unjudged }) => unjudged)),
    });
  };

  return async (request: Request): Promise<Response> => {
    const caller = await callers.identify(request);
    needs.noVerdict.admit(request, policies.select(DEFAULT_ALIAS, caller.keyIndex));
    await callers.count(caller);
    return answerWithin(request, { clock, limitMs: needs.deadlineMs }, async (deadline) => {
      const parsed = await parseRequest(request, caller.keyIndex, deadline);
      const { moderate } = judgeOf(parsed.policy);
      return respond(parsed, await moderate(parsed.items, parsed.alias, { ...deadline, owner: caller.owner }));
    });
  };
};
