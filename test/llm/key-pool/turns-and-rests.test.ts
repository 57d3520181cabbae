import * as assert from 'uvu/assert';
import { createKeyPool } from '../../../src/llm/key-pool.ts';
import { describe } from '../../check.ts';
import {
  AUTH,
  BURST,
  HOUR_MS,
  isEmpty,
  MINUTE_MS,
  order,
  poolOf,
  QUOTA,
  rests,
  SECOND_MS,
  states,
  take,
} from './world.ts';

describe('a key pool', (check) => {
  check('needs at least one key', () => {
    assert.throws(
      () => createKeyPool([], () => 0),
      (error: unknown) => error instanceof TypeError,
    );
  });

  check('uses active keys in turn', () => {
    const { pool } = poolOf('abc');
    assert.is(pool.size, 3);
    assert.is(order(pool, 7), 'abcabca');
  });

  check('leaves the order of the others alone while a key rests and when it is back', () => {
    const { pool, time } = poolOf('abcd');
    order(pool, 1);
    take(pool).refuse(BURST);
    assert.is(order(pool, 5), 'cdacd');
    time.ms += 5 * SECOND_MS;
    assert.is(order(pool, 1), 'a');
    take(pool).succeed();
    assert.is(order(pool, 5), 'cdabc');
  });

  check('gives a request no key that it has tried', () => {
    const { pool, keys } = poolOf('ab');
    const first = take(pool);
    const second = take(pool, [first.key]);
    assert.is(second.key.fingerprint, 'b');
    assert.is(pool.take(new Set(keys)), undefined);
    assert.is(take(pool, [keys[0]!]).key.fingerprint, 'b', 'even when it is the turn of the tried one');
  });

  check('rests a key by the reason: auth 10 minutes, quota 15 minutes, burst 5 seconds, and doubles', () => {
    const minutes = (...values: number[]) => values.map((value) => value * MINUTE_MS);
    const seconds = (...values: number[]) => values.map((value) => value * SECOND_MS);
    assert.equal(rests(AUTH, 5), minutes(10, 20, 40, 60, 60));
    assert.equal(rests(QUOTA, 4), minutes(15, 30, 60, 60));
    assert.equal(rests(BURST, 8), seconds(5, 10, 20, 40, 80, 160, 300, 300));
  });

  check('rests a key after a burst for as long as the backend asks, and for that alone', () => {
    assert.equal(rests({ reason: 'burst', retryAfterMs: 1_500 }, 3), [1_500, 1_500, 1_500]);
    assert.equal(rests({ reason: 'burst', retryAfterMs: HOUR_MS }, 1), [HOUR_MS]);
    assert.equal(rests({ reason: 'quota', retryAfterMs: 1_500 }, 1), [15 * MINUTE_MS]);
  });

  check('begins anew when the reason is another', () => {
    const { pool, time } = poolOf('a');
    for (const [refusal, coolDownMs] of [
      [BURST, 5 * SECOND_MS],
      [BURST, 10 * SECOND_MS],
      [AUTH, 10 * MINUTE_MS],
      [BURST, 5 * SECOND_MS],
    ] as const) {
      take(pool).refuse(refusal);
      assert.is(pool.waitMs(), coolDownMs);
      time.ms += coolDownMs;
    }
  });

  check('forgets all strikes after a success', () => {
    const { pool, time } = poolOf('a');
    take(pool).refuse(BURST);
    time.ms += 5 * SECOND_MS;
    take(pool).succeed();
    take(pool).refuse(BURST);
    assert.is(pool.waitMs(), 5 * SECOND_MS);
  });

  check('gives out no key before its rest is over', () => {
    const { pool, time } = poolOf('a');
    take(pool).refuse(BURST);
    time.ms += 5 * SECOND_MS - 1;
    assert.ok(isEmpty(pool));
    assert.is(pool.waitMs(), 1);
    time.ms += 1;
    assert.is(pool.waitMs(), 0);
    assert.not(isEmpty(pool));
  });

  check('reports the wait for the first key that returns', () => {
    const { pool, time } = poolOf('ab');
    assert.is(pool.waitMs(), 0);
    take(pool).refuse(AUTH);
    assert.is(pool.waitMs(), 0, 'b is in service');
    take(pool).refuse({ reason: 'burst', retryAfterMs: 30 * SECOND_MS });
    time.ms += SECOND_MS;
    assert.is(pool.waitMs(), 29 * SECOND_MS);
  });

  check('shows every key by its fingerprint and never its secret', () => {
    const { pool, time } = poolOf('abcd');
    take(pool).refuse(AUTH);
    take(pool).refuse(BURST);
    take(pool).refuse(BURST);
    time.ms += 5 * SECOND_MS;
    take(pool, []);
    assert.is(take(pool).key.fingerprint, 'b');
    assert.equal(pool.statuses(), [
      { fingerprint: 'a', state: 'cooling', coolDownMs: 10 * MINUTE_MS - 5 * SECOND_MS, reason: 'auth' },
      { fingerprint: 'b', state: 'probing', coolDownMs: 0, reason: 'burst' },
      { fingerprint: 'c', state: 'half-open', coolDownMs: 0, reason: 'burst' },
      { fingerprint: 'd', state: 'active', coolDownMs: 0 },
    ]);
    assert.not.match(JSON.stringify(pool.statuses()), 'secret');
  });

  check('reports every change that a call makes, and none that it does not make', () => {
    const { pool, time, changes } = poolOf('a');
    take(pool).succeed();
    take(pool).release();
    assert.equal(changes, []);
    take(pool).refuse(BURST);
    time.ms += 5 * SECOND_MS;
    take(pool).release();
    take(pool).refuse(BURST);
    time.ms += 10 * SECOND_MS;
    take(pool).succeed();
    const reported = changes.map(
      ({ state, coolDownMs, reason, strikes }) => `${state} ${coolDownMs} ${reason} ${strikes}`,
    );
    assert.equal(reported, [
      'cooling 5000 burst 1',
      'probing 0 burst 1',
      'half-open 0 burst 1',
      'probing 0 burst 1',
      'cooling 10000 burst 2',
      'probing 0 burst 2',
      'active 0 undefined 0',
    ]);
    assert.ok(changes.every(({ fingerprint }) => fingerprint === 'a'));
  });

  check('counts only the first thing that a lease says', () => {
    for (const first of ['succeed', 'release'] as const) {
      const { pool } = poolOf('a');
      const lease = take(pool);
      lease[first]();
      lease.refuse(AUTH);
      assert.is(states(pool), 'active');
    }
    const { pool } = poolOf('a');
    const lease = take(pool);
    lease.refuse(BURST);
    lease.refuse(AUTH);
    lease.succeed();
    assert.is(pool.waitMs(), 5 * SECOND_MS);
  });

  check('survives a clock that is set back without resting a key longer than its rest from then', () => {
    const { pool, time } = poolOf('a');
    take(pool).refuse(QUOTA);
    time.ms -= 10 * HOUR_MS;
    assert.is(pool.waitMs(), 15 * MINUTE_MS);
    time.ms += 15 * MINUTE_MS - 1;
    assert.ok(isEmpty(pool));
    time.ms += 1;
    assert.not(isEmpty(pool));
  });
});
