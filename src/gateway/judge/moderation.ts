import type { JudgeKind } from '../models.ts';
import type { Policy } from '../policy/policy.ts';
import { createJudgeCall } from './call.ts';
import { createJudgeChain } from './chain/chain.ts';
import { createGuardModelJudge } from './guard-model/judge.ts';
import { createItemModeration, type ItemModeration } from './item-verdict.ts';
import { createJudgePrompts } from './prompt.ts';
import { createPromptJudge } from './prompt-judge.ts';
import type { Judge, Judging, Moderate } from './types.ts';

/** Creates the moderation of single items by one policy. */
export const createItems = (judging: Judging, policy: Policy): ItemModeration => {
  const callJudge = createJudgeCall(judging);
  const prompts = createJudgePrompts(policy);
  const needs = { ...judging, callJudge, policy, prompts };
  const promptJudge = createPromptJudge(needs);
  const judgeOf = (kind: JudgeKind): Judge => (kind === 'prompt' ? promptJudge : createGuardModelJudge(kind, needs));
  return createItemModeration({ ...needs, judges: createJudgeChain({ policy, judgeOf }) });
};

/** Creates the moderation of a request's items by one policy, each by itself. */
export const createModerate = (judging: Judging, policy: Policy): Moderate => {
  const { prepare, judge } = createItems(judging, policy);
  return (items, alias, caller) =>
    Promise.all(items.map(async (item) => judge(await prepare(item, alias, caller), alias, caller)));
};
