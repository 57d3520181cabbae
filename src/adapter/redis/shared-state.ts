import { randomUUID } from 'node:crypto';
import * as v from 'valibot';
import type { Clock } from '../../core/clock.ts';
import { parseJson } from '../../core/json.ts';
import type { Log } from '../../core/log.ts';
import type { SharedVerdicts } from '../../gateway/judge/cache.ts';
import { type RateLimit, WINDOW_MS, waitFor } from '../../gateway/rate-limit.ts';
import type { SharedState } from '../../gateway/shared-state.ts';
import { systemClock } from '../node/clock.ts';
import type { RedisAddress } from './address.ts';
import { createRedisConnection, type RedisConnection } from './connection.ts';
import { createRedisCoolDowns } from './cool-downs.ts';
import { createRedisScript } from './script.ts';

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

/** The stored scores of a verdict. Anything else counts as not found: no score is ever made up. */
const StoredScores = v.pipe(v.array(v.pipe(v.number(), v.minValue(0), v.maxValue(1))), v.readonly());

/** Verdicts in Redis, each for `lifetimeMs` from its storing. 0 stores none. */
const createRedisVerdicts = (connection: RedisConnection, prefix: string, lifetimeMs: number): SharedVerdicts => ({
  async find(key, count) {
    if (lifetimeMs === 0) return undefined;
    const text = await connection.run((redis) => redis.get(prefix + key));
    const scores = typeof text === 'string' ? parseJson(StoredScores, text) : undefined;
    if (scores?.length !== count) return undefined;
    // Most texts are not found, so that the lifetime is asked for by those that are. Without one (-1) it is not ours.
    const leftMs = (await connection.run((redis) => redis.pttl(prefix + key))) ?? 0;
    return leftMs <= 0 ? undefined : { scores, leftMs };
  },
  store(key, scores) {
    if (lifetimeMs === 0) return;
    connection.runSoon((redis) => redis.set(prefix + key, JSON.stringify(scores), 'PX', Math.ceil(lifetimeMs)));
  },
});

type RedisStateOptions = {
  /** May hold a password, so it is never logged. */
  readonly address: RedisAddress;
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
    verdicts: (lifetimeMs) => createRedisVerdicts(connection, `${keyPrefix}verdict:`, lifetimeMs),
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
