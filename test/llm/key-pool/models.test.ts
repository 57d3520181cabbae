import * as assert from 'uvu/assert';
import type { KeyPool } from '../../../src/llm/key-pool.ts';
import type { KeyLease, KeyRefusal } from '../../../src/llm/key-state.ts';
import { describe } from '../../check.ts';
import { MINUTE_MS, poolOf, QUOTA, states } from './world.ts';

describe('a key that may not use one model', (check) => {
  const FORBIDDEN: KeyRefusal = { reason: 'auth', scope: 'model' };

  const takeFor = (pool: KeyPool, model: string): KeyLease => {
    const lease = pool.take(new Set(), model);
    if (lease === undefined) throw new Error('No key to take');
    return lease;
  };

  check('cools down for that model alone', () => {
    const { pool, changes } = poolOf('a');
    takeFor(pool, 'large').refuse(FORBIDDEN);
    assert.is(pool.take(new Set(), 'large'), undefined);
    assert.equal([pool.waitMs('large'), pool.waitMs('small'), pool.waitMs()], [10 * MINUTE_MS, 0, 0]);
    assert.equal(
      pool.statuses('large').map(({ state, reason }) => [state, reason]),
      [['cooling', 'auth']],
    );
    assert.is(states(pool), 'active');
    takeFor(pool, 'small').succeed();
    assert.equal(
      changes.map(({ model, state }) => [model, state]),
      [['large', 'cooling']],
    );
  });

  check('is tried for it by one call when that is over, and twice as late after another refusal', () => {
    const { pool, time } = poolOf('a');
    takeFor(pool, 'large').refuse(FORBIDDEN);
    time.ms += 10 * MINUTE_MS;
    const probe = takeFor(pool, 'large');
    assert.is(pool.take(new Set(), 'large'), undefined);
    assert.ok(pool.probeEnd('large'));
    assert.is(pool.probeEnd('small'), undefined);
    takeFor(pool, 'small').succeed();
    probe.refuse(FORBIDDEN);
    assert.is(pool.waitMs('large'), 20 * MINUTE_MS);
    time.ms += 20 * MINUTE_MS;
    takeFor(pool, 'large').succeed();
    assert.is(pool.waitMs('large'), 0);
    assert.equal(
      pool.statuses('large').map(({ state }) => state),
      ['active'],
    );
  });

  check('counts the refusals of calls that ran together as one', () => {
    const { pool } = poolOf('a');
    const leases = [takeFor(pool, 'large'), takeFor(pool, 'large'), takeFor(pool, 'large')];
    for (const lease of leases) lease.refuse(FORBIDDEN);
    assert.is(pool.waitMs('large'), 10 * MINUTE_MS);
  });

  check('is not usable for a model while the whole key cools down, and ends no cool-down of it', () => {
    const { pool, time } = poolOf('a');
    takeFor(pool, 'large').refuse(FORBIDDEN);
    takeFor(pool, 'small').refuse(QUOTA);
    assert.equal([pool.waitMs('large'), pool.waitMs('small')], [15 * MINUTE_MS, 15 * MINUTE_MS]);
    time.ms += 15 * MINUTE_MS;
    takeFor(pool, 'large').refuse(FORBIDDEN);
    // The 403 proves nothing about the quota: the next call still tries the key.
    assert.is(states(pool), 'half-open');
    assert.is(pool.waitMs('large'), 20 * MINUTE_MS);
  });
});
