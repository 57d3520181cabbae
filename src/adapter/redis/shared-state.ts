import * as v from 'valibot';
import { type RateLimit, WINDOW_MS, waitFor } from '../../gateway/rate-limit.ts';
import type { RedisLink } from './connection.ts';

/**
 * Counts a request if it fits, as the local rate limit does, on the clock of Redis alone; else tells what it found. How long
 * to wait is left to `waitFor`, so that there is one formula. A key that holds something else is thrown away.
 */
const COUNT = `
local time = redis.call('TIME')
local limit, size = tonumber(ARGV[1]), tonumber(ARGV[2])
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local window = math.floor(now / size)
local entry = redis.pcall('HMGET', KEYS[1], 'window', 'previous', 'current')
if entry.err then
  redis.call('DEL', KEYS[1])
  entry = {}
end
local counted = tonumber(entry[1] or '')
local previous, current = 0, 0
if counted == window then
  previous, current = tonumber(entry[2] or '') or 0, tonumber(entry[3] or '') or 0
elseif counted == window - 1 then
  previous = tonumber(entry[3] or '') or 0
end
local elapsed = now - window * size
if previous * (1 - elapsed / size) + current + 1 > limit then return { previous, current, elapsed } end
redis.call('HSET', KEYS[1], 'window', window, 'previous', previous, 'current', current + 1)
redis.call('PEXPIRE', KEYS[1], 2 * size)
return {}
`;

const Found = v.union([v.strictTuple([]), v.strictTuple([v.number(), v.number(), v.number()])]);

/**
 * The same sliding minute for all replicas together. Without Redis each replica counts by `local`, which also hears of what
 * passed here before, so that losing Redis does not begin a fresh minute. A key's id becomes part of a name in Redis.
 */
export const createRedisRateLimit = (link: RedisLink, prefix: string, limit: number, local: RateLimit): RateLimit => {
  const count = async (keyId: string): Promise<number> => {
    const reply = await link.ask((redis) => redis.eval(COUNT, 1, prefix + keyId, limit, WINDOW_MS));
    const found = v.safeParse(Found, reply);
    if (!found.success) return local(keyId);
    const [previous, current, elapsedMs] = found.output;
    if (previous === undefined || current === undefined || elapsedMs === undefined) {
      await local(keyId);
      return 0;
    }
    const waitMs = waitFor(limit, previous, current, elapsedMs);
    return waitMs > 0 && waitMs <= 2 * WINDOW_MS ? waitMs : WINDOW_MS;
  };
  return (keyId) => (limit === 0 || !link.isUp() ? local(keyId) : count(keyId));
};
