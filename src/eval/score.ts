/** One judged text as seen by one label. */
export type Sample = { readonly score: number; readonly isFlagged: boolean; readonly isPositive: boolean };

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

const share = (part: number, whole: number): number | null => (whole === 0 ? null : part / whole);

/**
 * Area under the precision-recall curve as average precision: each step of recall times the precision reached there.
 * Samples of one score are one step, so their order cannot matter. Nothing without a positive.
 */
export const averagePrecision = (samples: readonly Sample[]): number | null => {
  const sorted = samples.toSorted((left, right) => right.score - left.score);
  const positives = sorted.filter(({ isPositive }) => isPositive).length;
  let hits = 0;
  let stepHits = 0;
  let sum = 0;
  for (const [index, { score, isPositive }] of sorted.entries()) {
    if (isPositive) stepHits += 1;
    if (sorted[index + 1]?.score === score) continue;
    hits += stepHits;
    sum += (stepHits * hits) / (index + 1);
    stepHits = 0;
  }
  return share(sum, positives);
};

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
    precision: share(truePositives, truePositives + falsePositives),
    recall: share(truePositives, positives),
    f1: positives === 0 ? null : share(2 * truePositives, 2 * truePositives + falsePositives + falseNegatives),
    auprc: averagePrecision(samples),
  };
};
