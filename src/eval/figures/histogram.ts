import type { Sample } from './curve.ts';

/** How many positive and negative samples have a score of `from` up to the next bin's; the last bin includes 1. */
export type ScoreBin = { readonly from: number; readonly positives: number; readonly negatives: number };

/** How many bins a histogram of scores has. */
export const SCORE_BINS = 20;

/** The scores of 0 to 1 in bins of equal width. */
export const scoreHistogram = (samples: readonly Sample[]): readonly ScoreBin[] => {
  // A score of 0.15 is a little less than 3 bins of 0.05 in binary numbers.
  const binOf = (score: number): number => Math.min(SCORE_BINS - 1, Math.floor(score * SCORE_BINS + 1e-9));
  const counts = Array.from({ length: SCORE_BINS }, () => ({ positives: 0, negatives: 0 }));
  for (const { score, isPositive } of samples) {
    const bin = counts[binOf(score)];
    if (bin !== undefined) bin[isPositive ? 'positives' : 'negatives'] += 1;
  }
  return counts.map((bin, index) => ({ from: index / SCORE_BINS, ...bin }));
};
