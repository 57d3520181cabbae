import type { Observation } from './observation.ts';

/** The rows of a group, as labelled on the whole. Rows without that label are in none. */
export type GroupFigures = {
  readonly group: string;
  readonly positives: GroupCounts;
  readonly negatives: GroupCounts;
};
type GroupCounts = { readonly rows: number; readonly flagged: number; readonly unjudged: number };

const MOST_GROUPS = 50;

const countsOf = (observations: readonly Observation[]): GroupCounts => ({
  rows: observations.length,
  flagged: observations.filter(({ result }) => result.status === 'judged' && result.flagged).length,
  unjudged: observations.filter(({ result }) => result.status === 'error').length,
});

/** What was flagged in each group, the largest groups first. False alarms differ by kind of text more than by category. */
export const groupFigures = (observations: readonly Observation[]): readonly GroupFigures[] => {
  const groups = new Map<string, Observation[]>();
  for (const one of observations) {
    if (one.group === undefined || !one.known.has('flagged')) continue;
    const list = groups.get(one.group) ?? [];
    list.push(one);
    groups.set(one.group, list);
  }
  return [...groups]
    .toSorted(([, left], [, right]) => right.length - left.length)
    .slice(0, MOST_GROUPS)
    .map(([group, list]) => ({
      group,
      positives: countsOf(list.filter(({ known }) => known.get('flagged') === true)),
      negatives: countsOf(list.filter(({ known }) => known.get('flagged') === false)),
    }));
};
