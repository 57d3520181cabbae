import type { Log } from '../../core/log.ts';
import { parseRedisAddress } from '../../gateway/adapter/redis/address.ts';
import type { GatewayConfig } from '../../gateway/settings/config.ts';

/** What signs verdicts in Redis: all gateway and backend keys, in whatever order they are given. */
export const redisSecret = ({ settings, gatewayKeys }: Pick<GatewayConfig, 'settings' | 'gatewayKeys'>): string =>
  JSON.stringify([gatewayKeys.toSorted(), settings.BACKEND_API_KEYS.toSorted()]);

/**
 * The state in the Redis that `REDIS_URL` names, if it names one; throws a `ConfigError` that says what is wrong with it. The client library
 * is a third of the bundle: it is only loaded where there is a Redis.
 */
export const redisStateOf = async (config: Pick<GatewayConfig, 'settings' | 'gatewayKeys'>, log: Log) => {
  const { REDIS_URL: url } = config.settings;
  if (url === undefined) return undefined;
  const address = parseRedisAddress(url);
  const { createRedisState } = await import('../../gateway/adapter/redis/shared-state.ts');
  return createRedisState({ address, secret: redisSecret(config), log });
};
