import fc from 'fast-check';
import * as assert from 'uvu/assert';
import { createRateLimit, WINDOW_MS, waitFor } from '../../../../../src/gateway/routes/rate-limit.ts';
import { describe } from '../../../../check.ts';
import { missing } from '../servers.ts';
import { inWorld } from './world.ts';

describe('shared rate limit', (check) => {
  check.needing(
    missing,
    'lets exactly the limit pass over all replicas together, for each key',
    inWorld(async ({ connected, redis, prefix }) => {
      const local = createRateLimit(1000, Date.now);
      const limits = [(await connected()).rateLimit(20, local), (await connected()).rateLimit(20, local)];
      const waits = await Promise.all(Array.from({ length: 60 }, (_, index) => limits[index % 2]?.('busy')));
      assert.is(waits.filter((wait) => wait === 0).length, 20);
      assert.ok(waits.every((wait) => wait !== undefined && wait >= 0 && wait <= 2 * WINDOW_MS));
      assert.is(await limits[0]?.('idle'), 0);
      const leftMs = await redis.pttl(`${prefix}rate:busy`);
      assert.ok(leftMs > WINDOW_MS && leftMs <= 2 * WINDOW_MS);
    }),
  );

  check.needing(
    missing,
    'answers as the local rate limit would with the same counts',
    inWorld(async ({ connected, redis, prefix }) => {
      const state = await connected();
      const timeOf = async (): Promise<number> => {
        const [seconds, micros] = await redis.time();
        return Number(seconds) * 1000 + Math.floor(Number(micros) / 1000);
      };
      const count = fc.nat({ max: 30 });
      await fc.assert(
        fc.asyncProperty(fc.integer({ min: 1, max: 25 }), count, count, fc.boolean(), async (...drawn) => {
          const [limit, earlier, later, isOver] = drawn;
          const before = await timeOf();
          const window = Math.floor(before / WINDOW_MS);
          // A minute that is over: its count is the earlier one now, and what was earlier then is forgotten.
          const stored = isOver
            ? { window: window - 1, previous: later, current: earlier }
            : { window, previous: earlier, current: later };
          await redis.hset(`${prefix}rate:key`, stored);
          const waitMs = await state.rateLimit(limit, () => 0)('key');
          const after = await timeOf();
          if (Math.floor(after / WINDOW_MS) !== window) return;
          const current = isOver ? 0 : later;
          const most = waitFor(limit, earlier, current, before - window * WINDOW_MS);
          const least = waitFor(limit, earlier, current, after - window * WINDOW_MS);
          assert.ok(least <= waitMs && waitMs <= most, `${least} <= ${waitMs} <= ${most}`);
          const counted = Number(await redis.hget(`${prefix}rate:key`, 'current'));
          assert.is(counted, waitMs === 0 ? current + 1 : stored.current);
        }),
        { numRuns: 150 },
      );
    }),
  );

  check.needing(
    missing,
    'counts from nothing where something else is stored',
    inWorld(async ({ connected, redis, prefix, lines }) => {
      const limit = (await connected()).rateLimit(2, () => 0);
      await redis.set(`${prefix}rate:text`, 'not a count');
      await redis.hset(`${prefix}rate:hash`, { window: 'soon', previous: 'x', current: '' });
      for (const key of ['text', 'hash']) {
        const waits = [await limit(key), await limit(key), await limit(key)];
        assert.equal(
          waits.map((wait) => wait > 0),
          [false, false, true],
        );
      }
      assert.equal(lines, []);
    }),
  );

  check.needing(
    missing,
    'goes on counting where Redis has forgotten the scripts, as a new primary has',
    inWorld(async ({ connected, redis, lines }) => {
      const limit = (await connected()).rateLimit(2, () => 0);
      assert.is(await limit('key'), 0);
      await redis.script('FLUSH');
      assert.is(await limit('key'), 0);
      await redis.script('FLUSH');
      assert.ok((await limit('key')) > 0);
      assert.equal(lines, []);
    }),
  );

  check.needing(
    missing,
    'a limit of 0 sends no request',
    inWorld(async ({ connected, redis, prefix }) => {
      assert.is(await (await connected()).rateLimit(0, createRateLimit(0, Date.now))('key'), 0);
      assert.is(await redis.exists(`${prefix}rate:key`), 0);
    }),
  );
});
