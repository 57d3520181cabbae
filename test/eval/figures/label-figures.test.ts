import * as assert from 'uvu/assert';
import type { Label } from '../../../src/eval/category.ts';
import { labelFigures } from '../../../src/eval/figures/label-figures.ts';
import { latencyGroups } from '../../../src/eval/figures/latency.ts';
import type { Observation } from '../../../src/eval/figures/observation.ts';
import { describe } from '../../check.ts';
import { judgedOf } from '../world.ts';

const observed = (id: string, hate: boolean | undefined, score: number): Observation => ({
  id,
  chars: 10,
  known: new Map<Label, boolean>(hate === undefined ? [['flagged', true]] : [['hate', hate]]),
  result: judgedOf({ hate: score }),
});
const lost = (id: string, hate: boolean): Observation => ({
  ...observed(id, hate, 0),
  result: { id, hash: id, status: 'error', code: '503', ms: 5 },
});

describe('the figures of a label', (check) => {
  check('leave rows out whose label is unknown, and count those without a verdict apart', () => {
    const figures = labelFigures('hate', [
      observed('a', true, 0.9),
      observed('b', undefined, 0.9),
      lost('c', true),
      lost('d', false),
      lost('e', false),
    ]);
    assert.equal([figures?.figures.known, figures?.figures.positives], [1, 1]);
    assert.equal(figures?.unjudged, { positives: 1, negatives: 2 });
    assert.is(labelFigures('sexual', [observed('a', true, 1)]), undefined);
  });

  check('name the worst misses first, by id', () => {
    const figures = labelFigures('hate', [
      observed('near', true, 0.45),
      observed('far', true, 0.05),
      observed('alarm', false, 0.6),
      observed('worst alarm', false, 1),
      observed('right', true, 0.8),
    ]);
    assert.equal(figures?.missed, [
      { id: 'far', score: 0.05 },
      { id: 'near', score: 0.45 },
    ]);
    assert.equal(figures?.falseAlarms, [
      { id: 'worst alarm', score: 1 },
      { id: 'alarm', score: 0.6 },
    ]);
    assert.is(
      labelFigures(
        'hate',
        Array.from({ length: 30 }, () => observed('x', true, 0)),
      )?.missed.length,
      10,
    );
  });

  check('show the threshold that the answers have, or none where several were at work', () => {
    const rows = [observed('a', true, 0.6), observed('b', true, 0.4), observed('c', false, 0)];
    assert.equal(labelFigures('hate', rows)?.threshold, { lowestFlagged: 0.6, highestUnflagged: 0.4 });
    assert.is(labelFigures('hate', [observed('c', false, 0)])!.threshold, undefined);
    const other = {
      ...observed('d', true, 0.7),
      result: { ...judgedOf({ hate: 0.7 }), categories: [], flagged: false },
    };
    assert.is(labelFigures('hate', [...rows, other])!.threshold, undefined);
  });
});

describe('latencies', (check) => {
  check('are told by length and by what came from the cache, without errors', () => {
    const timed = (chars: number, ms: number, cache?: 'hit' | 'miss'): Observation => ({
      ...observed('a', true, 0),
      chars,
      result: { ...judgedOf({}, ms), cache },
    });
    assert.equal(
      latencyGroups([
        timed(100, 10, 'miss'),
        timed(100, 30, 'miss'),
        timed(101, 9, 'miss'),
        timed(5, 1, 'hit'),
        timed(99_999, 7),
        lost('x', true),
      ]),
      [
        { chars: 'up to 100', cache: 'miss', count: 2, p50: 10, p95: 30 },
        { chars: 'up to 500', cache: 'miss', count: 1, p50: 9, p95: 9 },
        { chars: 'up to 100', cache: 'hit', count: 1, p50: 1, p95: 1 },
        { chars: 'longer', cache: 'unknown', count: 1, p50: 7, p95: 7 },
      ],
    );
  });
});
