import * as assert from 'uvu/assert';
import { createKeyPool, type KeyPool } from '../../src/llm/key-pool.ts';
import type { BackendKey, KeyChange, KeyLease, KeyRefusal, RefusalReason } from '../../src/llm/key-state.ts';
import { describe } from '../check.ts';

const SECOND_MS = 1_000;
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const BURST: KeyRefusal = { reason: 'burst' };
const QUOTA: KeyRefusal = { reason: 'quota' };
const AUTH: KeyRefusal = { reason: 'auth' };

const poolOf = (names: string) => {
  const time = { ms: 1_000_000 };
  const changes: KeyChange[] = [];
  const keys = [...names].map((name): BackendKey => ({ secret: `secret-${name}`, fingerprint: name }));
  const pool = createKeyPool(
    keys,
    () => time.ms,
    (change) => changes.push(change),
  );
  return { time, changes, keys, pool };
};

const take = (pool: KeyPool, tried: readonly BackendKey[] = []): KeyLease => {
  const lease = pool.take(new Set(tried));
  if (lease === undefined) throw new Error('No key to take');
  return lease;
};
const isEmpty = (pool: KeyPool): boolean => pool.take(new Set()) === undefined;

/** The keys of so many calls, each of which leaves its key as it was. */
const order = (pool: KeyPool, count: number): string =>
  Array.from({ length: count }, () => {
    const lease = take(pool);
    lease.release();
    return lease.key.fingerprint;
  }).join('');

/** The rest that each of so many refusals in a row earns, every one from the probe after the rest before it. */
const rests = (refusal: KeyRefusal, count: number): number[] => {
  const { pool, time } = poolOf('a');
  return Array.from({ length: count }, () => {
    take(pool).refuse(refusal);
    const coolDownMs = pool.waitMs();
    time.ms += coolDownMs;
    return coolDownMs;
  });
};
const states = (pool: KeyPool): string =>
  pool
    .statuses()
    .map(({ state }) => state)
    .join(' ');

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

/** One key that has just served a burst's first rest. */
const halfOpen = () => {
  const world = poolOf('a');
  take(world.pool).refuse(BURST);
  world.time.ms += 5 * SECOND_MS;
  return world;
};

describe('a half-open key', (check) => {
  check('is tried by one call at a time', () => {
    const { pool } = halfOpen();
    assert.is(states(pool), 'half-open');
    take(pool);
    assert.is(states(pool), 'probing');
    assert.ok(isEmpty(pool));
    assert.is(pool.waitMs(), SECOND_MS, 'no one knows, so a second');
  });

  check('is skipped by the others while it is tried', () => {
    const { pool, time } = poolOf('ab');
    take(pool).refuse(BURST);
    time.ms += 5 * SECOND_MS;
    order(pool, 1);
    assert.is(take(pool).key.fingerprint, 'a');
    assert.is(order(pool, 3), 'bbb');
    assert.is(pool.waitMs(), 0);
  });

  check('is active again after a success', () => {
    const { pool } = halfOpen();
    take(pool).succeed();
    assert.is(states(pool), 'active');
  });

  check('rests twice as long after a further refusal', () => {
    const { pool } = halfOpen();
    take(pool).refuse(BURST);
    assert.is(pool.waitMs(), 10 * SECOND_MS);
  });

  check('is left to the next caller when its call ends without an answer', () => {
    const { pool } = halfOpen();
    take(pool).release();
    assert.is(states(pool), 'half-open');
    take(pool).refuse(BURST);
    assert.is(pool.waitMs(), 10 * SECOND_MS, 'the strike is remembered');
  });

  check('lets others wait for the end of its trial, however it ends', async () => {
    for (const end of [
      (lease: KeyLease) => lease.succeed(),
      (lease: KeyLease) => lease.refuse(BURST),
      (lease: KeyLease) => lease.release(),
    ]) {
      const { pool } = halfOpen();
      assert.is(pool.probeEnd(), undefined);
      const probe = take(pool);
      let ended = false;
      const ending = pool.probeEnd()?.then(() => {
        ended = true;
      });
      await Promise.resolve();
      assert.not(ended);
      end(probe);
      await ending;
      assert.ok(ended);
      assert.is(pool.probeEnd(), undefined);
    }
  });
});

/** One key that rests after a burst, and three calls that left before. */
const cooling = () => {
  const world = poolOf('a');
  const late = [take(world.pool), take(world.pool), take(world.pool)] as const;
  take(world.pool).refuse(BURST);
  world.changes.length = 0;
  return { ...world, late };
};

describe('an answer to a call from before the cool-down', (check) => {
  check('is no further strike: ten calls that are all refused count once', () => {
    for (const reason of ['auth', 'quota', 'burst'] satisfies RefusalReason[]) {
      const { pool, time, changes } = poolOf('a');
      const leases = Array.from({ length: 10 }, () => take(pool));
      const coolDownMs = rests({ reason }, 2);
      for (const lease of leases) {
        lease.refuse({ reason });
        time.ms += 1;
      }
      assert.is(pool.waitMs(), coolDownMs[0]! - 10);
      assert.is(changes.length, 1);
      time.ms += pool.waitMs();
      take(pool).refuse({ reason });
      assert.is(pool.waitMs(), coolDownMs[1]!, 'the next strike is the second');
    }
  });

  check('does not end the cool-down by a success', () => {
    const { pool, late, changes } = cooling();
    late[0].succeed();
    assert.is(pool.waitMs(), 5 * SECOND_MS);
    assert.equal(changes, []);
  });

  check('lengthens the cool-down when the backend asks for more', () => {
    const { pool, late, time, changes } = cooling();
    time.ms += SECOND_MS;
    late[0].refuse({ reason: 'burst', retryAfterMs: 3 * SECOND_MS });
    assert.is(pool.waitMs(), 4 * SECOND_MS, 'less is ignored');
    late[1].refuse({ reason: 'burst', retryAfterMs: 20 * SECOND_MS });
    assert.is(pool.waitMs(), 20 * SECOND_MS);
    assert.equal(changes, [
      { fingerprint: 'a', state: 'cooling', coolDownMs: 20 * SECOND_MS, reason: 'burst', strikes: 1 },
    ]);
    time.ms += 20 * SECOND_MS;
    take(pool).refuse(BURST);
    assert.is(pool.waitMs(), 10 * SECOND_MS, 'and is no strike');
  });

  check('that lengthens the cool-down leaves the strikes as they are', () => {
    const { pool, late, time } = cooling();
    time.ms += 5 * SECOND_MS;
    take(pool).refuse(BURST);
    late[0].refuse({ reason: 'burst', retryAfterMs: MINUTE_MS });
    time.ms += MINUTE_MS;
    take(pool).refuse(BURST);
    assert.is(pool.waitMs(), 20 * SECOND_MS, 'the third strike');
  });

  check('turns the cool-down into that of a severer reason, never into a milder one', () => {
    const { pool, late, time } = cooling();
    late[0].refuse(QUOTA);
    assert.is(pool.waitMs(), 15 * MINUTE_MS);
    late[1].refuse(AUTH);
    assert.is(pool.statuses()[0]?.reason, 'quota');
    assert.is(pool.waitMs(), 15 * MINUTE_MS);
    time.ms += 15 * MINUTE_MS;
    take(pool).refuse(QUOTA);
    assert.is(pool.waitMs(), 30 * MINUTE_MS);
  });

  check('changes nothing once the key is tried again or back', () => {
    const { pool, late, time } = cooling();
    time.ms += 5 * SECOND_MS;
    const probe = take(pool);
    late[0].refuse(QUOTA);
    late[1].release();
    assert.is(states(pool), 'probing');
    probe.succeed();
    late[2].refuse(QUOTA);
    assert.is(states(pool), 'active');
  });

  check('does not free the place of the call that tries a half-open key', () => {
    const { pool, late, time } = cooling();
    time.ms += 5 * SECOND_MS;
    take(pool);
    late[0].release();
    late[1].succeed();
    assert.ok(isEmpty(pool));
  });
});

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
