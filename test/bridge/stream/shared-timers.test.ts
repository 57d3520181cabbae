import * as assert from 'uvu/assert';
import { shareTimers } from '../../../src/bridge/stream/shared-timers.ts';
import { describe } from '../../check.ts';
import { createFakeClock } from '../../fake-clock.ts';

describe('timers that many streams share', (check) => {
  check('are one for all tasks of a millisecond, which run at their time and in their order', async () => {
    const clock = createFakeClock();
    const shared = shareTimers(clock);
    const ran: string[] = [];
    for (const [ms, name] of [
      [10, 'a'],
      [9.2, 'b'],
      [10, 'c'],
      [11, 'd'],
      [-5, 'now'],
    ] as const)
      shared.after(ms, () => void ran.push(name));
    assert.is(clock.pending(), 3);
    await clock.advance(9);
    assert.equal(ran, ['now']);
    await clock.advance(1);
    assert.equal(ran, ['now', 'a', 'b', 'c']);
    await clock.advance(1);
    assert.equal(ran.at(-1), 'd');
    assert.is(clock.pending(), 0);
  });

  check('run nothing that was taken back, and end with the last task', async () => {
    const clock = createFakeClock();
    const shared = shareTimers(clock);
    const ran: string[] = [];
    const cancels = ['a', 'b'].map((name) => shared.after(10, () => void ran.push(name)));
    cancels[0]?.();
    cancels[0]?.();
    assert.is(clock.pending(), 1);
    cancels[1]?.();
    assert.is(clock.pending(), 0);
    // A later task of the same millisecond has a timer again, which the earlier ones cannot take back.
    shared.after(10, () => void ran.push('c'));
    cancels[1]?.();
    await clock.advance(10);
    assert.equal(ran, ['c']);
  });
});
