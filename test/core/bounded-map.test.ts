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
});
