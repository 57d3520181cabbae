import { createDeadline, type Deadline } from '../../core/async.ts';
import type { Clock } from '../../core/clock.ts';
import { Fault } from '../../core/fault.ts';
import type { ModelAlias } from '../models.ts';
import type { CategoryScores } from '../policy/categories.ts';
import { batchableText, SHORT_TEXT_CHARS, splitGroups } from './batch-fit.ts';
import type { JudgeBatch } from './batch-judge.ts';
import type { SharedVerdicts, VerdictCache } from './cache.ts';
import {
  type Caller,
  createModerate,
  type FoundScores,
  type ItemModeration,
  type ItemVerdict,
  type Moderate,
  type ModerationItem,
  type PreparedItem,
  type TextDigest,
} from './moderate.ts';
import { createSharedWork } from './shared-work.ts';

type BatchNeeds = {
  readonly items: ItemModeration;
  readonly judgeBatch: JudgeBatch;
  readonly cache: VerdictCache;
  readonly shared: SharedVerdicts | undefined;
  readonly digest: TextDigest;
  readonly clock: Clock;
  readonly deadlineMs: number;
  /** The prompts of a batch, and from which scores on a text is judged alone. Part of the cache key. */
  readonly prompts: string;
  /** How many scores a verdict of the policy has. */
  readonly categoryCount: number;
  /** How many texts one call may judge. */
  readonly size: number;
  readonly windowChars: number;
};

/** A batch may use this share of the time that its request has left: its texts may all have to be judged alone after it. */
const BATCH_SHARE = 0.6;

/** An item that may be judged beside others. `key`: that of a verdict which was given beside others. */
type Member = { readonly item: PreparedItem; readonly text: string; readonly key: string };

const isShort = ({ text }: ModerationItem): boolean => text.length <= SHORT_TEXT_CHARS;

/**
 * Makes one call for several texts when the first of them is asked for. It is aborted only when all who asked have left:
 * one of the texts may be wanted by another request as well.
 */
const createBatchCall = (start: (signal: AbortSignal) => Promise<readonly (CategoryScores | undefined)[]>) => {
  const controller = new AbortController();
  let waiting = 0;
  let answer: ReturnType<typeof start> | undefined;
  return async (index: number, signal: AbortSignal): Promise<CategoryScores | undefined> => {
    waiting += 1;
    const leave = () => {
      waiting -= 1;
      if (waiting === 0) controller.abort(signal.reason);
    };
    signal.addEventListener('abort', leave, { once: true });
    try {
      answer ??= start(controller.signal);
      return (await answer)[index];
    } finally {
      signal.removeEventListener('abort', leave);
    }
  };
};

/**
 * Creates the moderation of a request's items that has short texts judged several in one call. A verdict that a batch gives
 * is stored under a key of its own, and no text that is judged alone is given it. What a batch does not give is judged alone.
 */
export const createBatchModerate = (needs: BatchNeeds): Moderate => {
  const { items: single, judgeBatch, cache, shared, clock, digest } = needs;
  const moderateAlone = createModerate(single);
  const work = createSharedWork<FoundScores>(() => createDeadline(clock, needs.deadlineMs));

  const memberOf = async (item: PreparedItem): Promise<Member | undefined> => {
    const text = batchableText(item);
    return text === undefined
      ? undefined
      : { item, text, key: await digest([item.key, 'batch', needs.prompts].join('\0')) };
  };

  const findKnown = async ({ item, key }: Member): Promise<CategoryScores | undefined> => {
    const cached = cache.find(item.key) ?? cache.find(key);
    if (cached !== undefined || shared === undefined) return cached;
    const [alone, beside] = await Promise.all([item.key, key].map((one) => shared.find(one, needs.categoryCount)));
    const found = alone ?? beside;
    if (found === undefined) return undefined;
    cache.store(alone === undefined ? key : item.key, found.scores, found.leftMs);
    return found.scores;
  };

  /** Starts for every text that a call is to judge beside others. None is called before all are known. */
  const createStarts = (members: readonly Member[], alias: ModelAlias, caller: Caller) => {
    const { span } = caller;
    const starts = new Map<string, (deadline: Deadline) => Promise<FoundScores>>();
    const wanted = new Map(members.map((member) => [member.key, member]));
    const unasked = [...wanted.values()].filter(({ key }) => !work.isRunning(key));
    for (const group of splitGroups(unasked, needs)) {
      if (group.length === 1) continue;
      const texts = group.map(({ text }) => text);
      const call = createBatchCall((signal) =>
        judgeBatch(texts, alias, { limitMs: caller.remainingMs() * BATCH_SHARE, signal, span }),
      );
      for (const [index, { item, key }] of group.entries()) {
        starts.set(key, async ({ signal }) => {
          const scores = await call(index, signal);
          if (scores === undefined) return single.judge(item, alias, { signal, span });
          cache.store(key, scores);
          shared?.store(key, scores);
          return { scores, isCached: false, asked: [] };
        });
      }
    }
    return starts;
  };

  const moderateShort = async (
    items: readonly ModerationItem[],
    alias: ModelAlias,
    caller: Caller,
  ): Promise<readonly ItemVerdict[]> => {
    const { signal, span } = caller;
    const prepared = await Promise.all(items.map((item) => single.prepare(item, alias, caller)));
    const members = await Promise.all(prepared.map(memberOf));
    const known = await Promise.all(members.map((member) => member && findKnown(member)));
    const open = members.filter((member, index) => member !== undefined && known[index] === undefined);
    const starts = createStarts(
      open.filter((member) => member !== undefined),
      alias,
      caller,
    );

    const judgeMember = async ({ item, key }: Member): Promise<FoundScores> => {
      const start = starts.get(key);
      if (start === undefined && !work.isRunning(key)) return single.judge(item, alias, caller);
      try {
        return await work.join(key, signal, start ?? ((own) => single.judge(item, alias, { ...own, span })));
      } catch (error) {
        // Joined late, it ended with the time of the request that started it.
        if (signal.aborted || !(error instanceof Fault && error.detail.kind === 'backend-timeout')) throw error;
        return single.judge(item, alias, caller);
      }
    };
    return Promise.all(
      prepared.map(async (item, index): Promise<ItemVerdict> => {
        const [member, scores] = [members[index], known[index]];
        if (member === undefined) return single.judge(item, alias, caller);
        const verdict = scores === undefined ? await judgeMember(member) : { scores, isCached: true, asked: [] };
        return { ...verdict, hidden: item.hidden, views: item.views };
      }),
    );
  };

  return async (items, alias, caller) => {
    const short = items.filter(isShort);
    // One call asks one chat model. Guard models and second judges are asked about each text by itself.
    if (short.length < 2 || alias.judge !== 'prompt' || alias.second !== undefined)
      return moderateAlone(items, alias, caller);
    const long = items.filter((item) => !isShort(item));
    const [shortVerdicts, longVerdicts] = await Promise.all([
      moderateShort(short, alias, caller),
      moderateAlone(long, alias, caller),
    ]);
    const [nextShort, nextLong] = [shortVerdicts.values(), longVerdicts.values()];
    return items.flatMap((item) => (isShort(item) ? nextShort : nextLong).next().value ?? []);
  };
};
