import * as assert from 'uvu/assert';
import { randomBytes } from '../../../src/adapter/web-crypto.ts';
import { describe } from '../../check.ts';

describe('random bytes', (check) => {
  check('are as many as were asked for, also when they are more than are drawn at once', () => {
    for (const count of [0, 1, 14, 4096, 10_000]) assert.is(randomBytes(count).length, count);
  });

  check('are never given twice', () => {
    const given = Array.from({ length: 2000 }, () => randomBytes(14).toString());
    assert.is(new Set(given).size, given.length);
  });

  check('stay as they were given', () => {
    const first = randomBytes(14);
    const before = first.toString();
    for (let count = 0; count < 1000; count++) randomBytes(14);
    assert.is(first.toString(), before);
  });
});
