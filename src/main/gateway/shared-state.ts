import { parseRedisAddress } from '../../adapter/redis/address.ts';
import type { Log } from '../../core/log.ts';

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
