import type { Clock } from '../../core/clock.ts';
import type { Semaphore } from '../../core/semaphore.ts';
import type { RunInSlices } from '../../core/time-slices.ts';
import type { Upstream } from '../../llm/breaker.ts';
import type { JudgeKind } from '../models.ts';
import type { Policy } from '../policy/policy.ts';
import type { MakeViews } from '../text/make-views.ts';
import type { SharedVerdicts, VerdictCache } from './cache.ts';
import { createJudgeCall, type JudgeCallNeeds } from './call.ts';
import { createJudgeChain } from './chain/chain.ts';
import { createGuardJudge } from './guard-model/guard-judge.ts';
import { coverageOf } from './guard-model/taxonomy.ts';
import { createJudge } from './judge.ts';
import {
  createItemModeration,
  createModerate,
  type ItemModeration,
  type KnownText,
  type Moderate,
  type TextDigest,
} from './moderate.ts';
import type { PolicyJudge } from './policy-judge.ts';
import { createJudgePrompts } from './prompt.ts';
import { createVerdictParser } from './verdict.ts';

/** What texts are judged with. */
export type ModerationNeeds = {
  readonly upstream: Upstream;
  readonly semaphore: Pick<Semaphore, 'acquire' | 'tryAcquire'>;
  readonly clock: Clock;
  readonly runInSlices: RunInSlices;
  readonly makeViews: MakeViews;
  readonly policy: Policy;
  /** The context that a local server gives the model, in tokens. */
  readonly contextTokens: number;
  readonly cache: VerdictCache;
  /** Texts whose views were made before. */
  readonly texts: VerdictCache<KnownText>;
  readonly shared: SharedVerdicts | undefined;
  readonly digest: TextDigest;
  /** Twelve unguessable digits. */
  readonly newNonce: () => string;
  readonly onUnusable: (model: string, reason: string) => void;
  readonly onTokens: JudgeCallNeeds['onTokens'];
  readonly settings: {
    readonly MODERATION_WINDOW_CHARS: number;
    readonly REQUEST_DEADLINE_MS: number;
    readonly HEDGE_AFTER_MS: number;
    readonly JUDGE_KEEP_ALIVE?: string | number | undefined;
  };
};

/** The moderation by one policy: of the items of a request, and of a single one. */
type Moderation = { readonly moderate: Moderate; readonly items: ItemModeration };

/** Creates the moderation of a request's items by one policy over a backend, each by itself. */
export const createModeration = (needs: ModerationNeeds): Moderation => {
  const { clock, policy, cache, shared, digest, newNonce, onUnusable, settings } = needs;
  const windowChars = settings.MODERATION_WINDOW_CHARS;
  const keepAlive = settings.JUDGE_KEEP_ALIVE;
  const memory = {
    contextTokens: needs.contextTokens,
    ...(keepAlive === undefined ? {} : { keepAlive }),
  };
  const callJudge = createJudgeCall({ ...needs, hedgeAfterMs: settings.HEDGE_AFTER_MS });
  const prompts = createJudgePrompts(policy);
  const { parse: parseVerdict } = createVerdictParser(policy);
  const categoryCount = policy.categories.length;
  const judgeByPrompt = createJudge({ callJudge, prompts, parseVerdict, memory, newNonce, onUnusable });
  const promptJudge: PolicyJudge = {
    covers: coverageOf('prompt', policy),
    judge: async (...asked) => ({ scores: await judgeByPrompt(...asked), scoreType: 'judged' }),
  };
  const judgeOf = (kind: JudgeKind): PolicyJudge => {
    if (kind === 'prompt') return promptJudge;
    return createGuardJudge(kind, { callJudge, categories: policy.categories, memory, windowChars, onUnusable });
  };
  const items = createItemModeration({
    judges: createJudgeChain({ policy, judgeOf }),
    cache,
    texts: needs.texts,
    shared,
    clock,
    runInSlices: needs.runInSlices,
    makeViews: needs.makeViews,
    prompts,
    categoryCount,
    windowChars,
    deadlineMs: settings.REQUEST_DEADLINE_MS,
    digest,
  });
  return { items, moderate: createModerate(items) };
};
