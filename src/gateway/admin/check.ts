import * as v from 'valibot';
import { Fault } from '../../core/fault.ts';
import { jsonResponse } from '../../core/http/response.ts';
import type { Moderate } from '../judge/types.ts';
import { DEFAULT_ALIAS } from '../models.ts';
import type { Policy } from '../policy/policy.ts';
import type { RouteParts } from '../routes/parts.ts';
import { parseModerationItems } from '../routes/request.ts';
import { createResultWriter } from '../routes/result.ts';
import { createViews } from '../text/decode.ts';
import { parseAdminBody } from './body.ts';

/** The body of `POST /admin/check`. `policy`: the version of one, in place of that of the alias. */
export const CheckRequest = v.object({
  model: v.nullish(v.string()),
  input: v.string(),
  policy: v.nullish(v.string()),
});

/** How much of a view is shown. */
const SHOWN_CHARS = 20_000;
/** Whose work it is: no gateway key has this digest. */
const OWNER = 'admin';
/** No gateway key has this index, so that the policy is that of the alias. */
const NO_KEY = -1;

/**
 * `POST /admin/check`: judges one text as a moderation does, and shows what the judge read of it. What is counted and cached is
 * the same, but that it is no verdict for a client: neither metrics nor the feed have one.
 */
export const createCheckRoute = (parts: RouteParts) => {
  const { clock, policies } = parts;
  const judges = new Map<Policy, Moderate>();
  const judgeOf = (policy: Policy): Moderate => {
    const judge = judges.get(policy) ?? parts.moderateBy(policy);
    judges.set(policy, judge);
    return judge;
  };
  const policyOf = (version: string): Policy => {
    const policy = policies.policies.find((one) => one.version === version);
    if (policy === undefined)
      throw new Fault({
        kind: 'bad-input',
        code: 'unknown_policy',
        param: 'policy',
        message: 'Expected the version of a policy at policy; GET /admin/state lists them',
      });
    return policy;
  };
  const readViews = async (text: string, signal: AbortSignal) => {
    const found = new Set<string>();
    const views = await parts.runInSlices(
      createViews(text, (decoder) => found.add(decoder)),
      signal,
      OWNER,
    );
    return views.texts.map((view, index) => ({
      kind: index === 0 ? 'visible' : views.hidden.includes('decoded') ? 'decoded' : 'invisible',
      text: view.slice(0, SHOWN_CHARS),
      chars: view.length,
      found: index === 0 ? [] : [...found],
    }));
  };

  return (request: Request): Promise<Response> =>
    parts.answerWithin(request, async (deadline) => {
      const startedAt = clock.now();
      const asked = parseAdminBody(CheckRequest, await parts.bodies.readJson(request, deadline.signal));
      const alias = parts.findAlias(asked.model ?? DEFAULT_ALIAS);
      const policy = asked.policy == null ? policies.select(alias.alias, NO_KEY) : policyOf(asked.policy);
      const rules = { limits: parts.inputRules.limits, unjudged: 'error', unseen: undefined } as const;
      const items = parseModerationItems(asked.input, rules);
      const views = await readViews(asked.input, deadline.signal);
      const [verdict] = await judgeOf(policy)(items, alias, { ...deadline, owner: OWNER });
      if (verdict === undefined) throw new TypeError('A text without a verdict');
      const { json } = createResultWriter(policy)(verdict.scores, { text: true, image: false }, verdict.scoreTypes);
      return jsonResponse(200, {
        model: alias.alias,
        backend_model: alias.model,
        policy: policy.version,
        cache: verdict.isCached ? 'hit' : 'miss',
        asked: verdict.asked,
        result: JSON.parse(json),
        thresholds: Object.fromEntries(policy.categories.map(({ name, threshold }) => [name, threshold])),
        hidden: verdict.hidden,
        views,
        duration_ms: clock.now() - startedAt,
      });
    });
};
