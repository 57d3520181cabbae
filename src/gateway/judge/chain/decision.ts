import type { DoubtBand } from '../../models.ts';
import type { CategoryScores } from '../../policy/categories.ts';

/** Scores by category of a policy, in its order. Undefined says nothing, and is never zero. */
export type PartialScores = readonly (number | undefined)[];

/** What is known of a judge before it is asked, by category of the policy. */
export type JudgeReach = {
  /** Whether it can say that a text is clean of the category. */
  readonly covers: readonly boolean[];
  /** The scores with which it is in doubt. */
  readonly doubt: readonly DoubtBand[];
};

/** The categories for which a judge is still wanted. */
export type OpenCategories = readonly boolean[];

/** Before any judge has been asked. */
export const allOpen = (count: number): OpenCategories => Array.from({ length: count }, () => true);

/** Whether a judge can say something about an open category. */
export const isAnyCovered = ({ covers }: Pick<JudgeReach, 'covers'>, open: OpenCategories): boolean =>
  covers.some((isCovered, index) => isCovered && open[index] === true);

const isInDoubt = (score: number | undefined, band: DoubtBand | undefined): boolean =>
  score === undefined || (band !== undefined && score >= band[0] && score < band[1]);

/**
 * What is open once a judge has answered: of what it covers, that in which it is in doubt, whether it was open before or not. The
 * rest is as it was.
 */
export const openAfter = (open: OpenCategories, { covers, doubt }: JudgeReach, scores: PartialScores): OpenCategories =>
  open.map((isOpen, index) => (covers[index] === true ? isInDoubt(scores[index], doubt[index]) : isOpen));

/** Which judges of a chain are asked about every text, whatever the others say: those who cover what none before them does. */
export const alwaysAsked = (chain: readonly Pick<JudgeReach, 'covers'>[]): readonly boolean[] => {
  const covered = new Set<number>();
  return chain.map(({ covers }) => {
    const added = covers.flatMap((isCovered, index) => (isCovered && !covered.has(index) ? [index] : []));
    for (const index of added) covered.add(index);
    return added.length > 0;
  });
};

/** The highest score that any judge gave, for each of `count` categories. Throws where none gave one: there is no zero to take for it. */
export const worstOf = (given: readonly PartialScores[], count: number): CategoryScores =>
  Array.from({ length: count }, (_, index) => {
    const scores = given.flatMap((one) => one[index] ?? []);
    if (scores.length === 0) throw new TypeError('No judge has given a score for a category');
    return Math.max(...scores);
  });
