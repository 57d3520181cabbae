import * as assert from 'uvu/assert';
import { createLoopGuard } from '../../../src/agent/tools/loop-guard.ts';
import { describe } from '../../check.ts';

describe('the guard against loops', (check) => {
  check('lets one call run three times, refuses it three times, then stops', () => {
    const guard = createLoopGuard();
    const rulings = Array.from({ length: 8 }, () => {
      const ruling = guard.decide('look', { a: 1 });
      if (ruling === 'run') guard.record('look', { a: 1 }, 'same');
      return ruling;
    });
    assert.equal(rulings, ['run', 'run', 'run', 'refuse', 'refuse', 'refuse', 'stop', 'stop']);
  });

  check('takes calls for the same whatever the order of their names, and for others when a value differs', () => {
    const guard = createLoopGuard();
    const same = [
      { a: 1, b: [{ c: 1, d: null }] },
      { b: [{ d: null, c: 1 }], a: 1 },
    ];
    for (const input of [...same, same[0]]) assert.is(guard.decide('look', input), 'run');
    assert.is(guard.decide('look', same[1]), 'refuse');
    for (const input of [{ a: 1 }, { a: '1', b: [] }, [], 'text', undefined, null])
      assert.is(guard.decide('look', input), 'run');
    assert.is(guard.decide('find', same[0]), 'run');
  });

  check('starts anew with a new outcome, and counts the calls that run at the same time', () => {
    const guard = createLoopGuard();
    for (let count = 0; count < 10; count++) {
      assert.is(guard.decide('look', {}), 'run');
      guard.record('look', {}, `outcome ${count}`);
    }
    const others = createLoopGuard();
    assert.equal(
      Array.from({ length: 4 }, () => others.decide('look', {})),
      ['run', 'run', 'run', 'refuse'],
    );
  });
});
