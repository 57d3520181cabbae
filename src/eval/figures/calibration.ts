import type { Sample } from './curve.ts';

/** Samples of neighbouring scores: how many, how many of them positive, and their mean score. */
export type CalibrationBin = { readonly count: number; readonly positives: number; readonly meanScore: number };

const MOST_BINS = 10;

/** Bins of about equally many samples. Those of one score stay together, because a judge says few different numbers. */
export const equalMassBins = (samples: readonly Sample[]): readonly CalibrationBin[] => {
  const sorted = samples.toSorted((left, right) => left.score - right.score);
  const bins: CalibrationBin[] = [];
  let begin = 0;
  for (const [index, { score }] of sorted.entries()) {
    const end = index + 1;
    const isScoreWhole = sorted[end]?.score !== score;
    // A full part of what is left: one score of most samples must not leave the others bins of one each.
    const isFull = end - begin >= (sorted.length - begin) / (MOST_BINS - bins.length);
    if (!isScoreWhole || !isFull) continue;
    const inside = sorted.slice(begin, end);
    const positives = inside.filter(({ isPositive }) => isPositive).length;
    bins.push({
      count: inside.length,
      positives,
      meanScore: inside.reduce((sum, sample) => sum + sample.score, 0) / inside.length,
    });
    begin = end;
  }
  return bins;
};

/** Expected calibration error: how far the share of positives is from the mean score, over all bins by their samples. */
export const calibrationError = (bins: readonly CalibrationBin[]): number | null => {
  const all = bins.reduce((sum, { count }) => sum + count, 0);
  if (all === 0) return null;
  return bins.reduce((sum, { count, positives, meanScore }) => sum + Math.abs(positives - count * meanScore), 0) / all;
};

/** Brier score: the mean square of what a score is off, where a positive should be 1 and a negative 0. */
export const brierScore = (samples: readonly Sample[]): number | null =>
  samples.length === 0
    ? null
    : samples.reduce((sum, { score, isPositive }) => sum + (score - Number(isPositive)) ** 2, 0) / samples.length;
