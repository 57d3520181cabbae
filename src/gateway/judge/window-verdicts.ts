import type { Deadline } from '../../core/async.ts';
import type { ModelAlias } from '../models.ts';
import { type CategoryScores, highestScores } from '../policy/categories.ts';
import type { SharedVerdicts, VerdictCache } from './cache.ts';
import type { Judge } from './judge.ts';
import type { Excerpt } from './prompt.ts';

type WindowNeeds = {
  readonly judge: Judge;
  readonly cache: VerdictCache;
  readonly shared: SharedVerdicts | undefined;
  /** How many scores a verdict of the policy has. */
  readonly categoryCount: number;
  /** The key of a window's verdict, from everything that changes it. */
  readonly keyFor: (window: Excerpt, alias: ModelAlias) => Promise<string>;
};

/** The scores of a whole text. `leftMs`: how long they may be used, where a window's verdict was known before. */
type TextScores = { readonly scores: CategoryScores; readonly leftMs: number | undefined };

/** Judges every excerpt of a text: the worst score of each category counts, and one missing verdict fails the text. */
export type JudgeExcerpts = (
  excerpts: readonly Excerpt[],
  alias: ModelAlias,
  deadline: Deadline,
) => Promise<TextScores>;

/**
 * Creates the judging of texts in windows. A window's verdict is stored, so that a text which has only grown since costs the windows
 * of its new end: all others begin where they did. How many parts the text has is no part of the key, and the only thing that
 * the judge was told otherwise.
 */
export const createJudgeExcerpts = (needs: WindowNeeds): JudgeExcerpts => {
  const { judge, cache, shared, categoryCount } = needs;

  const judgeWindow = async (window: Excerpt, alias: ModelAlias, deadline: Deadline): Promise<TextScores> => {
    // An image is judged with the text of its window, and a key for both is that of the whole text.
    if (window.image !== undefined) return { scores: await judge(window, alias, deadline), leftMs: undefined };
    const key = await needs.keyFor(window, alias);
    const cached = cache.findLimited(key);
    if (cached !== undefined) return cached;
    const found = await shared?.find(key, categoryCount);
    if (found !== undefined) {
      cache.store(key, found.scores, found.leftMs);
      return found;
    }
    const scores = await judge(window, alias, deadline);
    cache.store(key, scores);
    shared?.store(key, scores);
    return { scores, leftMs: undefined };
  };

  return async (excerpts, alias, deadline) => {
    const [only] = excerpts;
    if (only !== undefined && excerpts.length === 1)
      return { scores: await judge(only, alias, deadline), leftMs: undefined };
    const judged = await Promise.all(excerpts.map((excerpt) => judgeWindow(excerpt, alias, deadline)));
    const known = judged.flatMap(({ leftMs }) => leftMs ?? []);
    const scores = highestScores(
      judged.map((one) => one.scores),
      categoryCount,
    );
    return { scores, leftMs: known.length === 0 ? undefined : Math.min(...known) };
  };
};
