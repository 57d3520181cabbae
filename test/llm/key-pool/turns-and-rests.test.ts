import * as assert from 'uvu/assert';
import { createKeyPool } from '../../../src/llm/key-pool.ts';
import { describe } from '../../check.ts';
import { AUTH, BURST, HOUR_MS, isEmpty, MINUTE_MS, poolOf, QUOTA, rests, SECOND_MS, take } from './world.ts';

describe('a key pool', (check) => {
  check('needs at least one key', () => {
    assert.throws(
      () => createKeyPool([], () => 0),
      (error: unknown) => error instanceof TypeError,
    );
  });

  check('rests a key by the reason: auth 10 minutes, quota 15 minutes, burst 5 seconds, and doubles', () => {
    const minutes = (...values: number[]) => values.map((value) => value * MINUTE_MS);
    const seconds = (...values: number[]) => values.map((value) => value * SECOND_MS);
    assert.equal(rests(AUTH, 5), minutes(10, 20, 40, 60, 60));
    assert.equal(rests(QUOTA, 4), minutes(15, 30, 60, 60));
    assert.equal(rests(BURST, 8), seconds(5, 10, 20, 40, 80, 160, 300, 300));
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
