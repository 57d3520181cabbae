import fc from 'fast-check';
import * as assert from 'uvu/assert';
import { createKeyPool, type KeyPool } from '../../../src/llm/key-pool.ts';
import { type BackendKey, REFUSAL_REASONS } from '../../../src/llm/key-state.ts';
import { describe, thorough } from '../../check.ts';
import { history, keysOf, NONE, play } from './histories.ts';
import { HOUR_MS } from './world.ts';

const takeAll = (pool: KeyPool, count: number, tried: ReadonlySet<BackendKey>): readonly string[] =>
  Array.from({ length: count }, () => pool.take(tried)?.key.fingerprint ?? 'none');

describe('a key pool under any history', (check) => {
  check('does what the rules say, step by step', () => {
    fc.assert(
      fc.property(history, ({ size, steps }) => {
        play(size, steps);
      }),
      { numRuns: thorough(166, 1000) },
    );
  });

  check('shares calls among the active keys to within one, each in its place', () => {
    fc.assert(
      fc.property(history, fc.integer({ min: 1, max: 40 }), ({ size, steps }, count) => {
        const { pool, keys } = play(size, steps);
        const active = pool.statuses().filter(({ state }) => state === 'active');
        if (active.length === 0) return;
        const names = active.map(({ fingerprint }) => fingerprint);
        const taken = takeAll(pool, count, new Set(keys.filter(({ fingerprint }) => !names.includes(fingerprint))));
        for (const name of names) {
          const share = taken.filter((one) => one === name).length;
          assert.ok(share === Math.floor(count / names.length) || share === Math.ceil(count / names.length));
        }
        const first = names.indexOf(taken[0]!);
        assert.equal(
          taken,
          taken.map((_, index) => names[(first + index) % names.length]),
        );
      }),
      { numRuns: 300 },
    );
  });

  check('never has two calls on a half-open key, however many ask', () => {
    fc.assert(
      fc.property(history, ({ size, steps }) => {
        const { pool, advance } = play(size, steps);
        advance(HOUR_MS);
        const recovering = pool.statuses().filter(({ state }) => state === 'half-open');
        const taken = takeAll(pool, 3 * size, NONE);
        for (const { fingerprint } of recovering) assert.is(taken.filter((one) => one === fingerprint).length, 1);
      }),
      { numRuns: 300 },
    );
  });

  check('has every key back an hour later at the latest, each by one success', () => {
    fc.assert(
      fc.property(history, ({ size, steps }) => {
        const { pool, advance, endAll } = play(size, steps);
        endAll();
        advance(HOUR_MS);
        assert.is(pool.waitMs(), 0);
        for (let index = 0; index < size; index++) pool.take(NONE)?.succeed();
        assert.ok(pool.statuses().every(({ state }) => state === 'active'));
        for (let index = 0; index < size; index++) pool.take(NONE)?.refuse({ reason: 'burst' });
        assert.ok(
          pool.statuses().every(({ coolDownMs }) => coolDownMs === 5_000),
          'and no strike is left',
        );
      }),
      { numRuns: 300 },
    );
  });

  check('is not stranded by a clock that is set back', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...REFUSAL_REASONS),
        fc.integer({ min: 1, max: 9 }),
        fc.nat(10 * HOUR_MS),
        fc.nat(100),
        (reason, strikes, jumpMs, elapsedPercent) => {
          let time = 1e12;
          const pool = createKeyPool(keysOf(1), () => time);
          for (let strike = 1; strike < strikes; strike++) {
            pool.take(NONE)?.refuse({ reason });
            time += pool.waitMs();
          }
          pool.take(NONE)?.refuse({ reason });
          const coolDownMs = pool.waitMs();
          time += Math.floor((coolDownMs * elapsedPercent) / 100) - jumpMs;
          assert.ok(pool.waitMs() <= coolDownMs);
          time += coolDownMs;
          assert.is(pool.waitMs(), 0);
          assert.ok(pool.take(NONE));
        },
      ),
      { numRuns: 300 },
    );
  });
});
