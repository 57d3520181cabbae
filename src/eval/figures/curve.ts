/** One judged text as seen by one label. */
export type Sample = { readonly score: number; readonly isFlagged: boolean; readonly isPositive: boolean };

/** What a threshold at `score` would flag: so many, and of them rightly so many. */
export type CurvePoint = { readonly score: number; readonly flagged: number; readonly truePositives: number };

/** A point for each score that occurs, from the highest down. Samples of one score are one point, so their order cannot matter. */
export const curvePoints = (samples: readonly Sample[]): readonly CurvePoint[] => {
  const sorted = samples.toSorted((left, right) => right.score - left.score);
  const points: CurvePoint[] = [];
  let truePositives = 0;
  for (const [index, { score, isPositive }] of sorted.entries()) {
    if (isPositive) truePositives += 1;
    if (sorted[index + 1]?.score !== score) points.push({ score, flagged: index + 1, truePositives });
  }
  return points;
};

/** Area under the precision-recall curve as average precision: each step of recall times the precision reached there. */
export const averagePrecision = (samples: readonly Sample[]): number | null => {
  let sum = 0;
  let before = 0;
  for (const { flagged, truePositives } of curvePoints(samples)) {
    sum += ((truePositives - before) * truePositives) / flagged;
    before = truePositives;
  }
  return before === 0 ? null : sum / before;
};
