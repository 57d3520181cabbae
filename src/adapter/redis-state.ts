import { randomUUID } from 'node:crypto';
import type { Clock } from '../core/clock.ts';
import type { Log } from '../core/log.ts';
import type { SharedState } from '../gateway/app.ts';
import { systemClock } from './node/clock.ts';
import { createRedisLink } from './redis/connection.ts';
import { createRedisCoolDowns } from './redis/cool-downs.ts';
import { createRedisRateLimit } from './redis/shared-state.ts';
import { createRedisVerdicts } from './redis-verdicts.ts';

export type RedisStateNeeds = {
  /** May hold a password: it is never logged. */
  readonly url: string;
  readonly log: Log;
  readonly clock?: Clock;
  /** Begins every name in Redis, the channel's too. */
  readonly keyPrefix?: string;
};

export type RedisState = SharedState & {
  readonly isUp: () => boolean;
  /** Lets go of Redis after what has been sent. Everything may still be called, and is as without Redis. */
  readonly close: () => Promise<void>;
};

/**
 * What several replicas share, in one Redis. Connecting goes on in the background; while there is no connection, for whatever
 * reason, everything answers at once from local state. The log has one line when Redis is lost and one when it is back.
 */
export const createRedisState = ({
  url,
  log,
  clock = systemClock,
  keyPrefix = 'gatehouse:',
}: RedisStateNeeds): RedisState => {
  const channel = `${keyPrefix}rests`;
  const link = createRedisLink({ url, log, clock, channel, trialKey: `${keyPrefix}trial` });
  return {
    verdicts: (lifetimeMs) => createRedisVerdicts(link, `${keyPrefix}verdict:`, lifetimeMs),
    rateLimit: (limit, local) => createRedisRateLimit(link, `${keyPrefix}rate:`, limit, local),
    coolDowns: createRedisCoolDowns({ link, clock, channel, prefix: `${keyPrefix}rest:`, replica: randomUUID() }),
    isUp: link.isUp,
    close: link.close,
  };
};
