import { createDeadline, type Deadline } from '../../core/async.ts';
import { Fault } from '../../core/fault.ts';
import type { Steps } from '../../core/time-slices.ts';
import type { ChatImage } from '../../llm/types.ts';
import type { ModelAlias } from '../models.ts';
import type { CategoryScores } from '../policy/categories.ts';
import type { Policy } from '../policy/policy.ts';
import { createShortHintlessViews, type Hiding } from '../text/decode.ts';
import { NORMALISER_VERSION, splitWindows } from '../text/normalize.ts';
import { PIECE_CHARS, splitPieces } from '../text/pieces.ts';
import type { JudgeChain } from './chain/chain.ts';
import { fromStored, storedCount } from './chain/stored-verdict.ts';
import type { JudgePrompts } from './prompt.ts';
import { createSharedWork } from './shared-work.ts';
import type { AskedJudge, Excerpt, ItemCaller, ItemVerdict, Judging, ModerationItem, TextDigest } from './types.ts';
import { createJudgeExcerpts } from './window-verdicts.ts';

type ItemNeeds = Judging & {
  readonly judges: JudgeChain;
  readonly policy: Pick<Policy, 'categories'>;
  /** The policy as the judge reads it. Part of the cache key. */
  readonly prompts: Pick<JudgePrompts, 'system' | 'user'>;
};

/** The scores of a text, whether they come from the cache, and which judges were asked for them. */
type FoundScores = {
  readonly scores: CategoryScores;
  readonly isCached: boolean;
  readonly asked: readonly AskedJudge[];
};

/** What the judge would read of an item, and the key of its verdict. */
type PreparedItem = {
  readonly views: readonly string[];
  readonly hidden: readonly Hiding[];
  readonly image: ChatImage | undefined;
  readonly key: string;
  /** Its scores, where they are known by the text alone. There are no views then. */
  readonly known?: CategoryScores;
};

/** The two steps of moderating one item. */
export type ItemModeration = {
  readonly prepare: (item: ModerationItem, alias: ModelAlias, caller: ItemCaller) => Promise<PreparedItem>;
  /** Judges every window of every view, the highest scores win. One missing verdict fails the whole item. */
  readonly judge: (
    item: PreparedItem,
    alias: ModelAlias,
    asker: Pick<Deadline, 'signal' | 'span'>,
  ) => Promise<ItemVerdict>;
};

const createExcerpts = (
  views: readonly string[],
  windowChars: number,
  image: ChatImage | undefined,
): readonly Excerpt[] => {
  const excerpts = views.flatMap((view) => {
    const windows = splitWindows(view, windowChars);
    return windows.map((text, index) => ({ text, part: index + 1, parts: windows.length }));
  });
  const [first, ...rest] = excerpts;
  // The image is judged once, beside the first window.
  return first === undefined || image === undefined ? excerpts : [{ ...first, image }, ...rest];
};

/** The digests of a text's pieces. */
function* digestPieces(text: string, digest: TextDigest): Steps<readonly (string | Promise<string>)[]> {
  const digests: (string | Promise<string>)[] = [];
  for (const piece of splitPieces(text)) {
    digests.push(digest(piece));
    yield;
  }
  return digests;
}

/** Creates the moderation of items: from cache, from other replicas, from work under way, or from the judge. */
export const createItemModeration = (needs: ItemNeeds): ItemModeration => {
  const { judges, cache, texts, shared, digest, runInSlices, prompts } = needs;
  const windowChars = needs.settings.MODERATION_WINDOW_CHARS;
  const categoryCount = needs.policy.categories.length;
  // The full time: callers that join later may have more time than the first.
  const work = createSharedWork<FoundScores>(() => createDeadline(needs.clock, needs.settings.REQUEST_DEADLINE_MS));
  // Everything that changes a verdict besides the item: prompts, normalisation, window size.
  const emptyPrompt = prompts.user({ text: '', part: 1, parts: 1 }, '', false);
  const settings = [prompts.system, emptyPrompt, NORMALISER_VERSION, String(windowChars)].join('\0');
  let settingsDigest: string | Promise<string> | undefined;

  const cacheKeyFor = async (
    views: readonly string[],
    image: ChatImage | undefined,
    alias: ModelAlias,
    { signal, owner }: ItemCaller,
  ): Promise<string> => {
    settingsDigest ??= digest(settings);
    const parts = [await settingsDigest, judges.keyPart(alias), image?.mediaType ?? '', image?.base64 ?? '', ...views];
    // Views hold no NUL, normalising removes it: two different lists never join to the same text. A text as it came in is alone.
    const whole = parts.join('\0');
    if (whole.length <= PIECE_CHARS) return digest(whole);
    const digests = await Promise.all(await runInSlices(digestPieces(whole, digest), signal, owner));
    const [only = ''] = digests;
    return digests.length === 1 ? only : digest(digests.join('\0'));
  };

  const judgeExcerpts = createJudgeExcerpts({
    judge: judges.judge,
    cache,
    shared,
    categoryCount,
    // No type of an image is called so: no text as a whole has the key of a window.
    async keyFor({ text, part }, alias) {
      settingsDigest ??= digest(settings);
      return digest([await settingsDigest, judges.keyPart(alias), 'window', String(part), text].join('\0'));
    },
  });

  const prepare: ItemModeration['prepare'] = async ({ text, image }, alias, caller) => {
    // Most texts are such: they take a few microseconds, less than it takes to wait for a turn.
    const plain = createShortHintlessViews(text)?.texts;
    if (plain !== undefined)
      return { views: plain, hidden: [], image, key: await cacheKeyFor(plain, image, alias, caller) };
    // Making views takes a hundred times as long as a digest, and a client may send the same history with each prompt. An image
    // is much longer than its text. A digest takes every half of a surrogate pair for the same character, and decoders join them.
    const textKey =
      image === undefined && text.isWellFormed() ? await cacheKeyFor([text], image, alias, caller) : undefined;
    const earlier = textKey === undefined ? undefined : texts.find(textKey);
    const known = earlier === undefined ? undefined : cache.find(earlier.key);
    if (earlier !== undefined && known !== undefined) return { ...earlier, views: [], image, known };
    const { texts: views, hidden } = await needs.makeViews(text, caller.owner, caller.signal);
    const key = await cacheKeyFor(views, image, alias, caller);
    if (textKey !== undefined) texts.store(textKey, { key, hidden });
    return { views, hidden, image, key };
  };

  const judgeItem: ItemModeration['judge'] = async ({ views, hidden, image, key, known }, alias, { signal, span }) => {
    const cached = known ?? cache.find(key);
    if (cached !== undefined) return { ...fromStored(cached, categoryCount), isCached: true, asked: [], hidden, views };
    const findOrJudge = async (deadline: Deadline): Promise<FoundScores> => {
      const found = shared === undefined ? undefined : await shared.find(key, storedCount(alias, categoryCount));
      const { scores, leftMs, asked } =
        found === undefined
          ? await judgeExcerpts(createExcerpts(views, windowChars, image), alias, deadline)
          : { ...found, asked: [] };
      cache.store(key, scores, leftMs);
      // Others store it for the whole time: not what was made of older verdicts.
      if (leftMs === undefined) shared?.store(key, scores);
      return { scores, isCached: found !== undefined, asked };
    };
    const join = async (): Promise<ItemVerdict> => {
      const found = await work.join(key, signal, (deadline) => findOrJudge({ ...deadline, span }));
      return { ...found, ...fromStored(found.scores, categoryCount), hidden, views };
    };
    try {
      return await join();
    } catch (error) {
      // Work that was joined late ends with the time of the caller that started it. This caller still has time.
      if (signal.aborted || !(error instanceof Fault && error.detail.kind === 'backend-timeout')) throw error;
      return join();
    }
  };

  return { prepare, judge: judgeItem };
};
