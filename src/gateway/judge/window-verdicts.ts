import type { Deadline } from '../../core/async.ts';
import type { ModelAlias } from '../models.ts';
import { type CategoryScores, highestScores } from '../policy/categories.ts';
import type { JudgeChain } from './chain/chain.ts';
import { storedCount, toStored } from './chain/stored-verdict.ts';
import type { AskedJudge, Excerpt, Judging } from './types.ts';

type WindowNeeds = Pick<Judging, 'cache' | 'shared'> & {
  readonly judge: JudgeChain['judge'];
  /** How many scores a verdict of the policy has. Those of guard models are stored with their types. */
  readonly categoryCount: number;
  /** The key of a window's verdict, from everything that changes it. */
  readonly keyFor: (window: Excerpt, alias: ModelAlias) => Promise<string>;
};

/**
 * The scores of a whole text, and the judges that were asked. `leftMs`: how long the scores may be used, where a window's verdict was
 * known before.
 */
type TextScores = {
  readonly scores: CategoryScores;
  readonly asked: readonly AskedJudge[];
  readonly leftMs: number | undefined;
};

/** Judges every excerpt of a text: the worst score of each category counts, and one missing verdict fails the text. */
export type JudgeExcerpts = (
  excerpts: readonly Excerpt[],
  alias: ModelAlias,
  deadline: Deadline,
) => Promise<TextScores>;

/**
 * Creates the judging of texts in windows. A window's verdict is stored, so that a text which has only grown since costs the windows
 * of its new end: all others begin where they did. The number of the text's parts is not in the key: it is all that differs in the
 * judge's prompt.
 */
export const createJudgeExcerpts = (needs: WindowNeeds): JudgeExcerpts => {
  const { judge, cache, shared, categoryCount } = needs;

  const judgeNow = async (window: Excerpt, alias: ModelAlias, deadline: Deadline): Promise<TextScores> => {
    const verdict = await judge(window, alias, deadline);
    return { scores: toStored(verdict, alias), asked: verdict.asked, leftMs: undefined };
  };

  const judgeWindow = async (window: Excerpt, alias: ModelAlias, deadline: Deadline): Promise<TextScores> => {
    // An image is judged with the text of its window, and a key for both is that of the whole text.
    if (window.image !== undefined) return judgeNow(window, alias, deadline);
    const key = await needs.keyFor(window, alias);
    const cached = cache.findLimited(key);
    if (cached !== undefined) return { ...cached, asked: [] };
    const found = await shared?.find(key, storedCount(alias, categoryCount));
    if (found !== undefined) {
      cache.store(key, found.scores, found.leftMs);
      return { ...found, asked: [] };
    }
    const judged = await judgeNow(window, alias, deadline);
    cache.store(key, judged.scores);
    shared?.store(key, judged.scores);
    return judged;
  };

  return async (excerpts, alias, deadline) => {
    const [only] = excerpts;
    if (only !== undefined && excerpts.length === 1) return judgeNow(only, alias, deadline);
    const judged = await Promise.all(excerpts.map((excerpt) => judgeWindow(excerpt, alias, deadline)));
    const known = judged.flatMap(({ leftMs }) => leftMs ?? []);
    const scores = highestScores(
      judged.map((one) => one.scores),
      storedCount(alias, categoryCount),
    );
    const asked = judged.flatMap((one) => one.asked);
    return { scores, asked, leftMs: known.length === 0 ? undefined : Math.min(...known) };
  };
};
