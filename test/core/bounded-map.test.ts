import * as assert from 'uvu/assert';
import { setNewest } from '../../src/core/bounded-map.ts';
import { describe } from '../check.ts';

describe('a bounded map', (check) => {
  const filled = (keys: string, limit: number) => {
    const map = new Map<string, number>();
    const evicted = [...keys].map((key, index) => setNewest(map, [key, index], limit) ?? '-');
    return { entries: [...map], evicted: evicted.join('') };
  };

  check('deletes its oldest entry when there are too many, and returns the key', () => {
    assert.equal(filled('abcd', 3), {
      entries: [
        ['b', 1],
        ['c', 2],
        ['d', 3],
      ],
      evicted: '---a',
    });
  });

  check('treats an entry that is set again as its newest', () => {
    assert.equal(filled('abac', 2), {
      entries: [
        ['a', 2],
        ['c', 3],
      ],
      evicted: '---b',
    });
  });

  check('looks for its oldest entry only when there are too many', () => {
    const map = new Map<string, number>();
    let looks = 0;
    map.keys = () => {
      looks += 1;
      return Map.prototype.keys.call(map);
    };
    for (const key of 'abca') setNewest(map, [key, 1], 3);
    assert.is(looks, 0);
    assert.is(setNewest(map, ['d', 1], 3), 'b');
    assert.is(looks, 1);
  });
});
