import type { Label } from '../category.ts';
import { brierScore, type CalibrationBin, calibrationError, equalMassBins } from './calibration.ts';
import { type CurvePoint, curvePoints } from './curve.ts';
import { type ScoreBin, scoreHistogram } from './histogram.ts';
import { type LabelledSample, type Observation, samplesOf } from './observation.ts';
import { type Figures, figuresFor } from './score.ts';

/** A row that was judged wrongly, by its id. */
export type Miss = { readonly id: string; readonly score: number };

/** The threshold as the answers show it: some score above `highestUnflagged`, up to `lowestFlagged`. */
export type SeenThreshold = { readonly lowestFlagged: number; readonly highestUnflagged: number | null };

/** All that a report says about one label of a run. */
export type LabelFigures = {
  readonly label: Label;
  readonly figures: Figures;
  /** Rows with the label that have no verdict. */
  readonly unjudged: { readonly positives: number; readonly negatives: number };
  readonly curve: readonly CurvePoint[];
  readonly histogram: readonly ScoreBin[];
  readonly bins: readonly CalibrationBin[];
  readonly calibrationError: number | null;
  readonly brierScore: number | null;
  /** Undefined where nothing was flagged, or where no single threshold explains what was. */
  readonly threshold: SeenThreshold | undefined;
  /** Positive and not flagged, the lowest score first. */
  readonly missed: readonly Miss[];
  /** Negative and flagged, the highest score first. */
  readonly falseAlarms: readonly Miss[];
};

const MOST_MISSES = 10;

const seenThreshold = (samples: readonly LabelledSample[]): SeenThreshold | undefined => {
  let lowestFlagged = Number.POSITIVE_INFINITY;
  let highestUnflagged = -1;
  for (const { score, isFlagged } of samples) {
    if (isFlagged) lowestFlagged = Math.min(lowestFlagged, score);
    else highestUnflagged = Math.max(highestUnflagged, score);
  }
  if (lowestFlagged > 1 || highestUnflagged >= lowestFlagged) return undefined;
  return { lowestFlagged, highestUnflagged: highestUnflagged < 0 ? null : highestUnflagged };
};

/** The figures of a label; undefined where no row has it. */
export const labelFigures = (label: Label, observations: readonly Observation[]): LabelFigures | undefined => {
  const labelled = observations.filter(({ known }) => known.has(label));
  if (labelled.length === 0) return undefined;
  const samples = samplesOf(label, labelled);
  const unjudged = labelled.filter(({ result }) => result.status === 'error');
  const positives = unjudged.filter(({ known }) => known.get(label) === true).length;
  const bins = equalMassBins(samples);
  const worst = (wanted: boolean): readonly Miss[] =>
    samples
      .filter(({ isPositive, isFlagged }) => isPositive === wanted && isFlagged !== wanted)
      .toSorted((left, right) => (wanted ? left.score - right.score : right.score - left.score))
      .slice(0, MOST_MISSES)
      .map(({ id, score }) => ({ id, score }));
  return {
    label,
    figures: figuresFor(samples),
    unjudged: { positives, negatives: unjudged.length - positives },
    curve: curvePoints(samples),
    histogram: scoreHistogram(samples),
    bins,
    calibrationError: calibrationError(bins),
    brierScore: brierScore(samples),
    threshold: seenThreshold(samples),
    missed: worst(true),
    falseAlarms: worst(false),
  };
};
