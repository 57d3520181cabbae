import type { EvalCategory } from '../category.ts';
import { forEachResample, type Interval, middleInterval } from './bootstrap.ts';
import { type CurvePoint, curvePoints, type Sample } from './curve.ts';

/** What a threshold has to reach. */
export type Target = { readonly measure: 'precision' | 'recall'; readonly share: number };

type Estimate = Interval & { readonly value: number };

/** A threshold that reaches the target in the rows at hand, or why there is none. */
export type Suggestion = { readonly category: EvalCategory; readonly target: Target } & (
  | { readonly kind: 'kept'; readonly reason: string }
  | {
      readonly kind: 'suggested';
      readonly threshold: Estimate;
      readonly precision: Estimate;
      readonly recall: Estimate;
      /** In how many of 100 resamples some threshold reaches the target. */
      readonly reachedPercent: number;
    }
);

/** What is wanted of a category that `--target` does not name. */
export const DEFAULT_TARGET: Target = { measure: 'precision', share: 0.9 };

/** Fewer say nothing about others of their kind. */
const LEAST_OF_A_KIND = 20;
/** The same of rows that are flagged: three of three are no precision of 1. */
const LEAST_FLAGGED = 10;

/** The highest threshold with the wanted recall, or the lowest with the wanted precision: more is never given up for it than needed. */
const pointFor = (
  points: readonly CurvePoint[],
  positives: number,
  { measure, share }: Target,
): CurvePoint | undefined => {
  // A threshold of 0 flags whatever there is.
  const usable = points.filter(({ score, flagged }) => score > 0 && flagged >= LEAST_FLAGGED);
  // Divided, because 0.55 times 100 is a little more than 55 in binary numbers, and 55 of 100 is 0.55.
  return measure === 'recall'
    ? usable.find(({ truePositives }) => truePositives / positives >= share)
    : usable.findLast(({ truePositives, flagged }) => truePositives / flagged >= share);
};

/** The points of a resample: `sorted` has the highest score first, and `counts` how often each sample is drawn. */
const resampledPoints = (sorted: readonly Sample[], counts: Uint32Array): readonly CurvePoint[] => {
  const points: CurvePoint[] = [];
  let flagged = 0;
  let truePositives = 0;
  for (const [index, { score, isPositive }] of sorted.entries()) {
    const count = counts[index] ?? 0;
    flagged += count;
    if (isPositive) truePositives += count;
    if (sorted[index + 1]?.score !== score) points.push({ score, flagged, truePositives });
  }
  return points;
};

/** Of all policies that set none. */
const DEFAULT_THRESHOLD = 0.5;

/**
 * Whatever lies between two scores flags the same rows: the default if it is there, else the middle, in three decimals where those
 * are enough.
 */
const thresholdAt = (points: readonly CurvePoint[], { score }: CurvePoint): number => {
  const below = points.find((point) => point.score < score)?.score ?? 0;
  if (DEFAULT_THRESHOLD > below && DEFAULT_THRESHOLD <= score) return DEFAULT_THRESHOLD;
  const middle = Math.round(((score + below) / 2) * 1000) / 1000;
  return middle > below && middle <= score ? middle : score;
};

const estimate = (value: number, values: readonly number[]): Estimate => ({
  value,
  ...(middleInterval(values) ?? { low: value, high: value }),
});

/** Whether the policy that judged has another threshold than the default, as far as its answers show. */
const hasOtherThreshold = (samples: readonly Sample[]): boolean =>
  samples.some(({ score, isFlagged }) => isFlagged !== score >= DEFAULT_THRESHOLD);

/** Finds a category's threshold for a target, with 95 % intervals by a bootstrap that gives the same in each run. */
export const suggestThreshold = (category: EvalCategory, samples: readonly Sample[], target: Target): Suggestion => {
  const sorted = samples.toSorted((left, right) => right.score - left.score);
  const positives = sorted.filter(({ isPositive }) => isPositive).length;
  const negatives = sorted.length - positives;
  const kept = (why: string): Suggestion => {
    const other = hasOtherThreshold(sorted)
      ? `; the policy that judged has another than ${DEFAULT_THRESHOLD}: copy it if it is to stay`
      : '';
    return { category, target, kind: 'kept', reason: `${why}${other}` };
  };
  if (positives < LEAST_OF_A_KIND || negatives < LEAST_OF_A_KIND) {
    return kept(
      `too little data: ${positives} positive and ${negatives} negative, of each ${LEAST_OF_A_KIND} are needed`,
    );
  }
  const points = curvePoints(sorted);
  const point = pointFor(points, positives, target);
  if (point === undefined) return kept(`no threshold above 0 reaches it and flags ${LEAST_FLAGGED} rows`);

  const thresholds: number[] = [];
  const precisions: number[] = [];
  const recalls: number[] = [];
  let rounds = 0;
  forEachResample(sorted.length, (counts) => {
    rounds += 1;
    const resampled = resampledPoints(sorted, counts);
    const drawnPositives = resampled.at(-1)?.truePositives ?? 0;
    const best = pointFor(resampled, drawnPositives, target);
    if (best !== undefined) thresholds.push(thresholdAt(points, best));
    const same = resampled.find(({ score }) => score === point.score);
    if (same === undefined) return;
    if (same.flagged > 0) precisions.push(same.truePositives / same.flagged);
    if (drawnPositives > 0) recalls.push(same.truePositives / drawnPositives);
  });
  return {
    category,
    target,
    kind: 'suggested',
    threshold: estimate(thresholdAt(points, point), thresholds),
    precision: estimate(point.truePositives / point.flagged, precisions),
    recall: estimate(point.truePositives / positives, recalls),
    reachedPercent: Math.round((100 * thresholds.length) / rounds),
  };
};
