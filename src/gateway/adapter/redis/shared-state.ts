import { randomUUID } from 'node:crypto';
import * as v from 'valibot';
import { systemClock } from '../../../adapter/node/clock.ts';
import type { Clock } from '../../../core/clock.ts';
import type { Log } from '../../../core/log.ts';
import { type RateLimit, WINDOW_MS, waitFor } from '../../routes/rate-limit.ts';
import type { SharedState } from '../../shared-state.ts';
import type { RedisAddress } from './address.ts';
import { createRedisConnection, type RedisConnection } from './connection.ts';
import { createRedisCoolDowns } from './cool-downs.ts';
import { createRedisScript } from './script.ts';
import { createRedisVerdicts } from './verdicts.ts';

/**
 * Counts a request if it fits the limit, as the local rate limit does, with Redis' clock; else returns the counts. `waitFor`
 * computes the wait, so that there is one formula. A key that holds something else is deleted.
 */
const count = createRedisScript(`
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
if counted == window then
  redis.call('HSET', KEYS[1], 'current', current + 1)
else
  redis.call('HSET', KEYS[1], 'window', window, 'previous', previous, 'current', 1)
  redis.call('PEXPIRE', KEYS[1], 2 * size)
end
return {}
`);

const CountReply = v.union([v.strictTuple([]), v.strictTuple([v.number(), v.number(), v.number()])]);

/**
 * One sliding minute for all replicas. Without Redis each replica counts with `local`. Requests that pass here are counted
 * there too, so that losing Redis does not start a fresh minute. A key's id becomes part of a name in Redis.
 */
const createRedisRateLimit = (
  connection: RedisConnection,
  prefix: string,
  limit: number,
  local: RateLimit,
): RateLimit => {
  const countShared = async (keyId: string): Promise<number> => {
    const reply = await count(connection.run, prefix + keyId, limit, WINDOW_MS);
    const found = v.safeParse(CountReply, reply);
    if (!found.success) return local(keyId);
    const [previous, current, elapsedMs] = found.output;
    if (previous === undefined || current === undefined || elapsedMs === undefined) {
      await local(keyId);
      return 0;
    }
    const waitMs = waitFor(limit, previous, current, elapsedMs);
    return waitMs > 0 && waitMs <= 2 * WINDOW_MS ? waitMs : WINDOW_MS;
  };
  return (keyId) => (limit === 0 || !connection.isUp() ? local(keyId) : countShared(keyId));
};

type RedisStateOptions = {
  /** May hold a password, so it is never logged. */
  readonly address: RedisAddress;
  /** What all replicas have, and nobody else who can write to Redis: verdicts are signed with it. */
  readonly secret: string;
  readonly log: Log;
  readonly clock?: Clock;
  /** The prefix of every name in Redis, including the channel. */
  readonly keyPrefix?: string;
};

export type RedisState = SharedState & {
  readonly isUp: () => boolean;
  /** Disconnects after the commands that were sent. Everything may still be called, and works as without Redis. */
  readonly close: () => Promise<void>;
};

/**
 * The state that replicas share in one Redis, or in a Redis Cluster. Connects in the background. Without a connection everything works at once with
 * local state. Logs one line when Redis is lost and one when it is back.
 */
export const createRedisState = ({
  address,
  secret,
  log,
  clock = systemClock,
  keyPrefix = 'gatehouse:',
}: RedisStateOptions): RedisState => {
  // A script's keys are on one server: a cluster chooses it by what is in braces. Elsewhere the names stay as they were.
  const [channel, rests] =
    address.kind === 'cluster'
      ? [`{${keyPrefix}rests}`, `{${keyPrefix}rests}:`]
      : [`${keyPrefix}rests`, `${keyPrefix}rest:`];
  const connection = createRedisConnection({ address, log, clock, channel, probeKey: `${keyPrefix}trial` });
  return {
    verdicts: createRedisVerdicts({ connection, prefix: `${keyPrefix}verdict:`, secret, log, clock }),
    rateLimit: (limit, local) => createRedisRateLimit(connection, `${keyPrefix}rate:`, limit, local),
    coolDowns: createRedisCoolDowns({
      connection: connection,
      clock,
      channel,
      prefix: rests,
      replica: randomUUID(),
    }),
    isUp: connection.isUp,
    close: connection.close,
  };
};
