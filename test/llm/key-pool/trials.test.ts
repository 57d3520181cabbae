import * as assert from 'uvu/assert';
import type { KeyLease, RefusalReason } from '../../../src/llm/key-state.ts';
import { describe } from '../../check.ts';
import { BURST, halfOpen, poolOf, rests, take } from './world.ts';

describe('a half-open key', (check) => {
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
});
