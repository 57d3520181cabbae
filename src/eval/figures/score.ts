import { averagePrecision, type Sample } from './curve.ts';

/** How well a label was judged. `null` where there is nothing to divide by. */
export type Figures = {
  readonly known: number;
  readonly positives: number;
  readonly truePositives: number;
  readonly falsePositives: number;
  readonly falseNegatives: number;
  readonly trueNegatives: number;
  readonly precision: number | null;
  readonly recall: number | null;
  readonly f1: number | null;
  readonly auprc: number | null;
};

/** A part of a whole; nothing where there is nothing to divide by. */
export const shareOf = (part: number, whole: number): number | null => (whole === 0 ? null : part / whole);

/** The smallest value that at least `percent` of all values do not exceed (nearest rank). */
export const percentile = (values: readonly number[], percent: number): number | null => {
  const sorted = values.toSorted((left, right) => left - right);
  return sorted[Math.max(0, Math.ceil((percent / 100) * sorted.length) - 1)] ?? null;
};

/** Counts and figures of one label. F1 is `null` without a positive, as recall is. */
export const figuresFor = (samples: readonly Sample[]): Figures => {
  const count = (isFlagged: boolean, isPositive: boolean): number =>
    samples.filter((sample) => sample.isFlagged === isFlagged && sample.isPositive === isPositive).length;
  const truePositives = count(true, true);
  const falsePositives = count(true, false);
  const falseNegatives = count(false, true);
  const positives = truePositives + falseNegatives;
  return {
    known: samples.length,
    positives,
    truePositives,
    falsePositives,
    falseNegatives,
    trueNegatives: samples.length - positives - falsePositives,
    precision: shareOf(truePositives, truePositives + falsePositives),
    recall: shareOf(truePositives, positives),
    f1: positives === 0 ? null : shareOf(2 * truePositives, 2 * truePositives + falsePositives + falseNegatives),
    auprc: averagePrecision(samples),
  };
};
