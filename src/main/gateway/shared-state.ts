import { parseRedisAddress } from '../../adapter/redis/address.ts';
import type { Log } from '../../core/log.ts';
import type { SharedState } from '../../gateway/shared-state.ts';

/**
 * The state in the Redis that `REDIS_URL` names, if it names one; throws a `ConfigError` that says what is wrong with it. The client library
 * is a third of the bundle: it is only loaded where there is a Redis.
 */
export const redisStateAt = async (url: string | undefined, log: Log) => {
  if (url === undefined) return undefined;
  const address = parseRedisAddress(url);
  const { createRedisState } = await import('../../adapter/redis/shared-state.ts');
  return createRedisState({ address, log });
};

/** With Redis all replicas share what they can there. `/ready` is for the workers that clients cannot tell apart. */
export const sharedStateOf = (
  redis: SharedState | undefined,
  workers: SharedState | undefined,
): SharedState | undefined => {
  if (redis === undefined || workers === undefined) return redis ?? workers;
  // While Redis is lost, the workers still count together.
  return { ...workers, ...redis, rateLimit: (limit, local) => redis.rateLimit(limit, workers.rateLimit(limit, local)) };
};
