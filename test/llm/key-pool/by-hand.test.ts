import * as assert from 'uvu/assert';
import type { KeyRefusal } from '../../../src/llm/key-state.ts';
import { describe } from '../../check.ts';
import { AUTH, BURST, HOUR_MS, halfOpen, MINUTE_MS, order, poolOf, SECOND_MS, states, take } from './world.ts';

describe('a rest by hand', (check) => {
  const byHand = (coolDownMs: number) => ({ fingerprint: 'a', coolDownMs, reason: 'manual' as const, strikes: 0 });

  check('takes a key out of service for its time, with the reason manual, and one call tries it then', () => {
    const { pool, time, changes } = poolOf('ab');
    assert.is(pool.rest('a', MINUTE_MS), true);
    assert.is(order(pool, 2), 'bb');
    const resting = {
      fingerprint: 'a',
      state: 'cooling',
      coolDownMs: MINUTE_MS,
      reason: 'manual',
      strikes: 0,
    } as const;
    assert.equal(changes, [resting]);
    assert.equal(pool.details()[0], resting);
    time.ms += MINUTE_MS;
    assert.is(states(pool), 'half-open active');
    take(pool).succeed();
    assert.is(states(pool), 'active active');
  });

  check('is not ended by the success of a call from before it, here or at another replica', () => {
    const { pool } = poolOf('a');
    const lease = take(pool);
    pool.rest('a', MINUTE_MS);
    lease.succeed();
    pool.adopt({ ...byHand(0), reason: 'burst' });
    assert.is(pool.waitMs(), MINUTE_MS);
    pool.adopt(byHand(0));
    assert.is(states(pool), 'active');
  });

  check('never shortens a cool-down, and gives way to a longer one', () => {
    const { pool, changes } = poolOf('a');
    const lease = take(pool);
    take(pool).refuse(AUTH);
    pool.rest('a', MINUTE_MS);
    assert.is(pool.statuses()[0]?.reason, 'auth');
    assert.is(changes.length, 1);
    pool.release('a');
    pool.rest('a', MINUTE_MS);
    lease.refuse(AUTH);
    assert.equal([pool.statuses()[0]?.reason, pool.waitMs()], ['auth', 10 * MINUTE_MS]);
  });

  check('lasts a day at most where it is learnt from another replica, other cool-downs an hour', () => {
    const { pool } = poolOf('a');
    pool.adopt(byHand(100 * HOUR_MS));
    assert.is(pool.waitMs(), 24 * HOUR_MS);
  });

  check('and a release are refused for a key that is not there', () => {
    const { pool, changes } = poolOf('ab');
    assert.equal([pool.rest('c', MINUTE_MS), pool.release('c')], [false, false]);
    assert.equal(changes, []);
  });
});

describe('a release by hand', (check) => {
  check('ends a cool-down and forgets its strikes', () => {
    const { pool, time, changes } = poolOf('a');
    for (let strike = 0; strike < 3; strike++) {
      time.ms += pool.waitMs();
      take(pool).refuse(BURST);
    }
    assert.is(pool.waitMs(), 20 * SECOND_MS);
    pool.release('a');
    assert.equal(changes.at(-1), { fingerprint: 'a', state: 'active', coolDownMs: 0, strikes: 0, reason: 'manual' });
    assert.is(states(pool), 'active');
    take(pool).refuse(BURST);
    assert.is(pool.waitMs(), 5 * SECOND_MS);
  });

  check('ends what single models were refused, here and where it is learnt', () => {
    const refusal: KeyRefusal = { reason: 'auth', scope: 'model' };
    const [here, there] = [poolOf('a').pool, poolOf('a').pool];
    for (const pool of [here, there]) pool.take(new Set(), 'large')?.refuse(refusal);
    assert.equal(
      here.details().map(({ state, model }) => [state, model]),
      [
        ['active', undefined],
        ['cooling', 'large'],
      ],
    );
    here.release('a');
    there.adopt({ fingerprint: 'a', coolDownMs: 0, reason: 'manual', strikes: 0 });
    for (const pool of [here, there]) assert.equal([pool.waitMs('large'), pool.details().length], [0, 1]);
  });

  check('lets those go on that wait for a probe', async () => {
    const { pool } = halfOpen();
    const probe = take(pool);
    const waiting = pool.probeEnd();
    pool.release('a');
    await waiting;
    probe.succeed();
    assert.is(states(pool), 'active');
  });
});
