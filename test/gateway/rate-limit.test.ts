import * as fc from 'fast-check';
import * as assert from 'uvu/assert';
import { createRateLimit, WINDOW_MS } from '../../src/gateway/routes/rate-limit.ts';
import { describe } from '../check.ts';
import { errorOf } from './harness/read-answer.ts';
import { gatewayOver, judging } from './harness/world.ts';

const START = Date.UTC(2026, 0, 1);
const steps = fc.array(fc.record({ ms: fc.nat(20_000), burst: fc.integer({ min: 1, max: 15 }) }), { maxLength: 60 });

/** The local limit, which answers at once. */
const limitedTo = (limit: number, now: () => number) => {
  const rateLimit = createRateLimit(limit, now);
  return (keyId: string): number => Number(rateLimit(keyId));
};

describe('the rate limit', (check) => {
  check('lets pass no more than its number in any minute that starts at a full one', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 20 }), steps, (limit, bursts) => {
        let now = START;
        const rateLimit = limitedTo(limit, () => now);
        const passed = new Map<number, number>();
        for (const { ms, burst } of bursts) {
          now += ms;
          for (let index = 0; index < burst; index++) {
            if (rateLimit('key') !== 0) continue;
            const minute = Math.floor(now / WINDOW_MS);
            passed.set(minute, (passed.get(minute) ?? 0) + 1);
          }
        }
        for (const count of passed.values()) assert.ok(count <= limit, `${count} of ${limit}`);
      }),
    );
  });
  check('lets pass less than twice its number in any minute at all', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 20 }), steps, (limit, bursts) => {
        let now = START;
        const rateLimit = limitedTo(limit, () => now);
        const passedAt: number[] = [];
        for (const { ms, burst } of bursts) {
          now += ms;
          for (let index = 0; index < burst; index++) if (rateLimit('key') === 0) passedAt.push(now);
        }
        for (const start of passedAt) {
          const inMinute = passedAt.filter((at) => at >= start && at < start + WINDOW_MS).length;
          assert.ok(inMinute < 2 * limit, `${inMinute} of ${limit}`);
        }
      }),
    );
  });
  check('reports a wait after which a request passes, and before which none does', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 20 }), steps, (limit, bursts) => {
        let now = START;
        const rateLimit = limitedTo(limit, () => now);
        for (const { ms, burst } of bursts) {
          now += ms;
          for (let index = 0; index < burst; index++) {
            const waitMs = rateLimit('key');
            if (waitMs === 0) continue;
            assert.ok(Number.isFinite(waitMs) && waitMs > 0 && waitMs <= 2 * WINDOW_MS, `${waitMs}`);
            if (waitMs > 2) {
              now += waitMs - 2;
              assert.ok(rateLimit('key') > 0, 'passed before the wait was over');
              now += 2;
            } else now += waitMs;
            assert.is(rateLimit('key'), 0, `limit ${limit}: refused after ${waitMs} ms`);
          }
        }
      }),
    );
  });
  check('does not lock anybody out when the clock is set back', () => {
    let now = START;
    const rateLimit = limitedTo(2, () => now);
    rateLimit('key');
    now -= 10 * WINDOW_MS;
    assert.is(rateLimit('key'), 0);
  });
});

describe('a key over its rate limit', (check) => {
  const variables = { RATE_LIMIT_RPM: '2', MODERATION_API_KEYS: 'gateway-key-1,gateway-key-2' };
  const asOther = { authorization: 'Bearer gateway-key-2' };

  check('is answered 429 with a true Retry-After, before its body is read', async () => {
    const { ask, clock, calls } = gatewayOver(judging(), { variables });
    for (const input of ['a', 'b']) assert.is((await ask({ input })).status, 200);
    const error = await errorOf(await ask('no JSON'));
    assert.equal([error.status, error.code, error.type], [429, 'rate_limit_exceeded', 'rate_limit_error']);
    assert.is(calls.length, 2);
    const seconds = Number(error.retryAfter);
    assert.ok(seconds >= 1 && seconds <= 120);
    await clock.advance(seconds * 1000);
    assert.is((await ask({ input: 'c' })).status, 200);
  });
  check('does not keep others out', async () => {
    const { ask } = gatewayOver(judging(), { variables });
    for (const input of ['a', 'b', 'c']) await ask({ input });
    assert.is((await ask({ input: 'd' }, asOther)).status, 200);
  });
  check('is not counted by those who do not have it', async () => {
    const { ask } = gatewayOver(judging(), { variables });
    for (const input of ['a', 'b', 'c']) assert.is((await ask({ input }, { authorization: 'Bearer no' })).status, 401);
    assert.is((await ask({ input: 'd' })).status, 200);
  });
  check('may still ask for models and health', async () => {
    const { ask, visit } = gatewayOver(judging(), { variables });
    for (const input of ['a', 'b', 'c']) await ask({ input });
    assert.is((await visit('/v1/models')).status, 200);
    assert.is((await visit('/health')).status, 200);
  });
});
