import type { DoubtBand } from '../../models.ts';
import type { CategoryScores } from '../../policy/categories.ts';

/** Scores by category of a policy, in its order. Undefined says nothing, and is never zero. */
export type PartialScores = readonly (number | undefined)[];

/** What is known of a judge before it is asked, by category of the policy. */
export type JudgeReach = {
  /** Whether it can say that a text is clean of the category. */
  readonly covers: readonly boolean[];
  /** Whether a text counts as clean of the category where the judge finds nothing at all, though it does not cover it. */
  readonly clears: readonly boolean[];
  /** The scores with which it is in doubt. */
  readonly doubt: readonly DoubtBand[];
  /** The scores from which a text is no longer plainly clean: those of doubt, and of a violation. */
  readonly cleanBelow: readonly number[];
};

/** What a judge covers and clears. */
type Reached = Pick<JudgeReach, 'covers' | 'clears'>;

/** The categories for which a judge is still wanted. */
export type OpenCategories = readonly boolean[];

/** Before any judge has been asked. */
export const allOpen = (count: number): OpenCategories => Array.from({ length: count }, () => true);

/** The categories that a judge may settle. */
const reachOf = ({ covers, clears }: Reached): readonly boolean[] =>
  covers.map((isCovered, index) => isCovered || clears[index] === true);

/** Whether a judge can say something about an open category. */
export const isAnyCovered = (judge: Reached, open: OpenCategories): boolean =>
  reachOf(judge).some((isReached, index) => isReached && open[index] === true);

const isInDoubt = (score: number | undefined, band: DoubtBand | undefined): boolean =>
  score === undefined || (band !== undefined && score >= band[0] && score < band[1]);

/** What a judge has answered. `otherHarm`: the most harm that it finds of what it does not cover. */
type Answered = { readonly scores: PartialScores; readonly otherHarm?: number };

/** Whether a judge finds all that it covers plainly clean, and what it was asked beside that as clean as what it clears must be. */
const findsNothing = ({ scores, otherHarm = 0 }: Answered, { covers, clears, cleanBelow }: JudgeReach): boolean =>
  covers.includes(true) &&
  cleanBelow.every((limit, index) => clears[index] !== true || otherHarm < limit) &&
  scores.every((score, index) =>
    covers[index] === true ? score !== undefined && score < (cleanBelow[index] ?? 0) : score === undefined,
  );

/** A judge's scores, and the most harm that it says of anything for what it clears where it finds nothing. */
export const withCleared = (answered: Answered, judge: JudgeReach): PartialScores => {
  const { scores, otherHarm = 0 } = answered;
  if (!findsNothing(answered, judge)) return scores;
  const highest = Math.max(otherHarm, ...scores.flatMap((score) => score ?? []));
  return scores.map((score, index) => score ?? (judge.clears[index] === true ? highest : undefined));
};

/**
 * What is open once a judge has answered: of what it covers, that in which it is in doubt, whether it was open before or not. So it is
 * with what it clears where it finds nothing. The rest is as it was.
 */
export const openAfter = (open: OpenCategories, judge: JudgeReach, answered: Answered): OpenCategories => {
  const settled = findsNothing(answered, judge) ? reachOf(judge) : judge.covers;
  const given = withCleared(answered, judge);
  return open.map((isOpen, index) => (settled[index] === true ? isInDoubt(given[index], judge.doubt[index]) : isOpen));
};

/** Which judges of a chain are asked about every text, whatever the others say: those who may settle what none before them can. */
export const alwaysAsked = (chain: readonly Reached[]): readonly boolean[] => {
  const reached = new Set<number>();
  return chain.map((judge) => {
    const added = reachOf(judge).flatMap((isReached, index) => (isReached && !reached.has(index) ? [index] : []));
    for (const index of added) reached.add(index);
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
