import * as assert from 'uvu/assert';
import type { RefusalReason } from '../../../src/llm/key-state.ts';
import { describe } from '../../check.ts';
import { AUTH, BURST, HOUR_MS, halfOpen, MINUTE_MS, order, poolOf, SECOND_MS, states, take } from './world.ts';

describe('a rest learnt from another replica', (check) => {
  const shared = (coolDownMs: number, strikes = 1, reason: RefusalReason = 'burst') => ({
    fingerprint: 'a',
    coolDownMs,
    reason,
    strikes,
  });

  check('rests the key here, is not passed on, and counts as a strike', () => {
    const { pool, time, changes } = poolOf('ab');
    pool.adopt(shared(20 * SECOND_MS, 3));
    assert.is(order(pool, 2), 'bb');
    assert.equal(pool.statuses()[0], {
      fingerprint: 'a',
      state: 'cooling',
      coolDownMs: 20 * SECOND_MS,
      reason: 'burst',
    });
    assert.equal(changes, []);
    time.ms += 20 * SECOND_MS;
    take(pool).refuse(BURST);
    assert.is(pool.statuses()[0]?.coolDownMs, 40 * SECOND_MS);
  });

  check('never shortens a rest, and never lasts over an hour', () => {
    const { pool } = poolOf('a');
    take(pool).refuse(AUTH);
    pool.adopt(shared(5 * SECOND_MS));
    pool.adopt(shared(Number.NaN));
    assert.is(pool.waitMs(), 10 * MINUTE_MS);
    pool.adopt(shared(100 * HOUR_MS));
    assert.is(pool.waitMs(), HOUR_MS);
  });

  check('ends when that replica found the key in service again', () => {
    const { pool, changes } = poolOf('a');
    take(pool).refuse(AUTH);
    changes.length = 0;
    pool.adopt(shared(0));
    assert.is(states(pool), 'active');
    assert.equal(changes, []);
    take(pool).refuse(AUTH);
    assert.is(pool.waitMs(), 10 * MINUTE_MS, 'with no strike left');
  });

  check('makes late what calls of before it answer', () => {
    const { pool } = halfOpen();
    const probe = take(pool);
    pool.adopt(shared(10 * SECOND_MS, 2));
    assert.is(states(pool), 'cooling');
    probe.refuse(BURST);
    assert.is(pool.waitMs(), 10 * SECOND_MS, 'both replicas saw the same refusal');
  });

  check('ends the waiting for a probe, by its beginning as by its end', async () => {
    for (const coolDownMs of [0, 10 * SECOND_MS]) {
      const { pool } = halfOpen();
      const probe = take(pool);
      const ending = pool.probeEnd();
      pool.adopt(shared(coolDownMs));
      await ending;
      assert.is(pool.probeEnd(), undefined);
      probe.release();
      assert.is(states(pool), coolDownMs === 0 ? 'active' : 'cooling');
    }
  });

  check('of a key that this replica does not have is ignored', () => {
    const { pool } = poolOf('b');
    pool.adopt(shared(HOUR_MS));
    assert.is(states(pool), 'active');
  });
});
