import * as fc from 'fast-check';
import * as assert from 'uvu/assert';
import { averagePrecision, type Sample } from '../../../src/eval/figures/curve.ts';
import { figuresFor, percentile } from '../../../src/eval/figures/score.ts';
import { describe } from '../../check.ts';

const ranked = (...pairs: readonly (readonly [number, 0 | 1])[]): Sample[] =>
  pairs.map(([score, positive]) => ({ score, isFlagged: score >= 0.5, isPositive: positive === 1 }));

const near = (value: number | null, expected: number) =>
  assert.ok(value !== null && Math.abs(value - expected) < 1e-9, `${value} is not ${expected}`);

const samples = fc.array(
  fc.record({
    score: fc.integer({ min: 0, max: 5 }).map((n) => n / 5),
    isFlagged: fc.boolean(),
    isPositive: fc.boolean(),
  }),
);

describe('scores', (check) => {
  check('a perfect ranking has an AUPRC of 1', () => {
    near(averagePrecision(ranked([0.9, 1], [0.8, 1], [0.2, 0], [0.1, 0])), 1);
  });

  check('AUPRC sums the precision at each positive over the positives', () => {
    // Positives at ranks 1, 3 and 4: (1/1 + 2/3 + 3/4) / 3
    near(averagePrecision(ranked([0.9, 1], [0.8, 0], [0.7, 1], [0.6, 1], [0.1, 0])), (1 + 2 / 3 + 3 / 4) / 3);
  });

  check('samples of one score are one step of AUPRC', () => {
    // 0.9: 1 of 1. Then three at 0.5, two of them positive: precision 3/4 for two thirds of the recall.
    near(averagePrecision(ranked([0.9, 1], [0.5, 0], [0.5, 1], [0.5, 1], [0.1, 0])), 1 / 3 + (2 / 3) * (3 / 4));
    // All of one score: the share of positives.
    near(averagePrecision(ranked([0, 1], [0, 0], [0, 0], [0, 0])), 1 / 4);
  });

  check('the order of the rows cannot change AUPRC', () => {
    fc.assert(
      fc.property(samples, fc.infiniteStream(fc.nat()), (list, keys) => {
        const shuffled = list.map((sample) => ({ sample, key: keys.next().value })).sort((a, b) => a.key - b.key);
        const value = averagePrecision(list);
        const other = averagePrecision(shuffled.map(({ sample }) => sample));
        assert.is(value?.toFixed(9), other?.toFixed(9));
        assert.ok(value === null || (value > 0 && value <= 1 + 1e-9));
      }),
    );
  });

  check('without a positive there is no recall, F1 or AUPRC, and nothing is zero instead', () => {
    const { precision, recall, f1, auprc } = figuresFor(ranked([0.9, 0], [0.1, 0]));
    assert.equal({ precision, recall, f1, auprc }, { precision: 0, recall: null, f1: null, auprc: null });
    const none = figuresFor([]);
    assert.equal([none.precision, none.recall, none.f1, none.auprc], [null, null, null, null]);
  });

  check('with nothing flagged there is no precision, and F1 is 0', () => {
    const { precision, recall, f1 } = figuresFor(ranked([0.4, 1], [0.1, 0]));
    assert.equal({ precision, recall, f1 }, { precision: null, recall: 0, f1: 0 });
  });

  check('precision, recall and F1 follow from the four counts', () => {
    const figures = figuresFor(ranked([0.9, 1], [0.9, 1], [0.9, 0], [0.1, 1], [0.1, 0], [0.1, 0], [0.1, 0]));
    const { truePositives, falsePositives, falseNegatives, trueNegatives } = figures;
    assert.equal([truePositives, falsePositives, falseNegatives, trueNegatives], [2, 1, 1, 3]);
    assert.equal([figures.known, figures.positives], [7, 3]);
    near(figures.precision, 2 / 3);
    near(figures.recall, 2 / 3);
    near(figures.f1, 2 / 3);
  });

  check('a percentile is a value that occurred', () => {
    const hundred = Array.from({ length: 100 }, (_, index) => 100 - index);
    assert.equal(
      [50, 95, 99, 100].map((percent) => percentile(hundred, percent)),
      [50, 95, 99, 100],
    );
    assert.equal(
      [50, 95, 99].map((percent) => percentile([30, 10, 20], percent)),
      [20, 30, 30],
    );
    assert.is(percentile([], 50), null);
  });
});
