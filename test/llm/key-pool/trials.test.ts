import * as assert from 'uvu/assert';
import type { KeyLease, RefusalReason } from '../../../src/llm/key-state.ts';
import { describe } from '../../check.ts';
import {
  AUTH,
  BURST,
  cooling,
  halfOpen,
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
