import * as assert from 'uvu/assert';
import { partText, powerText, shareText, thinned } from '../../../src/eval/report/format.ts';
import { describe } from '../../check.ts';

describe('numbers of a report', (check) => {
  check('have a dash where there is none, and few characters on an axis', () => {
    assert.equal([shareText(null), shareText(0), partText(0, 0), partText(1, 3)], ['–', '0.000', '–', '1 (33.3 %)']);
    assert.equal([-1, 0, 2, 3, 5, 6].map(powerText), ['0.1', '1', '100', '1k', '100k', '1M']);
  });

  check('are thinned evenly, with the first and the last', () => {
    const list = Array.from({ length: 1001 }, (_, index) => index);
    assert.equal(thinned(list, 5), [0, 250, 500, 750, 1000]);
    assert.is(thinned(list, 400).length, 400);
    assert.equal(thinned([1, 2], 5), [1, 2]);
  });
});
