import * as assert from 'uvu/assert';
import { brierScore, calibrationError, equalMassBins } from '../../../src/eval/figures/calibration.ts';
import type { Sample } from '../../../src/eval/figures/curve.ts';
import { scoreHistogram } from '../../../src/eval/figures/histogram.ts';
import { describe } from '../../check.ts';

const sample = (score: number, isPositive: boolean): Sample => ({ score, isPositive, isFlagged: score >= 0.5 });
const many = (count: number, score: number, isPositive: boolean) =>
  Array.from({ length: count }, () => sample(score, isPositive));
const near = (actual: number | null, expected: number) =>
  assert.ok(actual !== null && Math.abs(actual - expected) < 1e-12, `${actual}, expected ${expected}`);

describe('calibration', (check) => {
  check('has ten bins of as many samples each where every score is another', () => {
    const bins = equalMassBins(Array.from({ length: 100 }, (_, index) => sample(index / 100, index >= 50)));
    assert.equal(
      bins.map(({ count, positives }) => [count, positives]),
      [...Array(5).fill([10, 0]), ...Array(5).fill([10, 10])],
    );
    near(bins[0]?.meanScore ?? null, 0.045);
  });

  check('keeps equal scores in one bin, and shares the rest evenly', () => {
    const rest = Array.from({ length: 18 }, (_, index) => sample(0.5 + index / 100, true));
    const bins = equalMassBins([...many(82, 0, false), ...rest]);
    assert.equal(
      bins.map(({ count }) => count),
      [82, ...Array(9).fill(2)],
    );
    assert.is(equalMassBins(many(5, 0.3, true)).length, 1);
    assert.equal(equalMassBins([]), []);
  });

  check('is off by the distance between shares and scores, by the samples of the bins', () => {
    const samples = [...many(3, 0.2, false), ...many(1, 0.2, true), ...many(6, 0.9, true)];
    // 4 samples are off by 0.05, 6 by 0.1.
    near(calibrationError(equalMassBins(samples)), (4 * 0.05 + 6 * 0.1) / 10);
    near(brierScore(samples), (3 * 0.04 + 0.64 + 6 * 0.01) / 10);
    assert.is(calibrationError([]), null);
    assert.is(brierScore([]), null);
  });
});

describe('the histogram of scores', (check) => {
  check('counts labels apart, in the bin that a score begins, and 1 in the last', () => {
    const bins = scoreHistogram([sample(0.15, true), sample(0.15, false), sample(0.3, false), sample(1, true)]);
    assert.is(bins.length, 20);
    assert.equal(
      bins.filter(({ positives, negatives }) => positives + negatives > 0),
      [
        { from: 0.15, positives: 1, negatives: 1 },
        { from: 0.3, positives: 0, negatives: 1 },
        { from: 0.95, positives: 1, negatives: 0 },
      ],
    );
  });
});
