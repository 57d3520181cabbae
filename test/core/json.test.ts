import * as assert from 'uvu/assert';
import { isNestedBeyond } from '../../src/core/json.ts';
import { describe } from '../check.ts';

const objects = (levels: number): string => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`;
const lists = (levels: number): string => `${'['.repeat(levels)}${']'.repeat(levels)}`;

describe('what lies deep', (check) => {
  check('is distinguished from what does not, by objects and lists alike', () => {
    for (const made of [objects, lists]) {
      assert.not.ok(isNestedBeyond(JSON.parse(made(64))));
      assert.ok(isNestedBeyond(JSON.parse(made(65))));
      assert.ok(isNestedBeyond(JSON.parse(made(100_000))));
    }
    for (const flat of [null, 1, 'x', undefined, {}, []]) assert.not.ok(isNestedBeyond(flat));
    assert.ok(isNestedBeyond({ flat: 1, deep: JSON.parse(lists(64)) }));
  });
});
