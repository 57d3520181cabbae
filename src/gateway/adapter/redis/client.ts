import { Cluster, Redis, type RedisOptions } from 'ioredis';
import type { RedisAddress } from './address.ts';

/** A connection to one server, or to all servers of a cluster. */
export type RedisClient = Redis | Cluster;

/** The commands that are used, which a server and a cluster have alike. */
export type RedisCommands = Pick<Redis, 'eval' | 'evalsha' | 'get' | 'pttl' | 'set' | 'smembers'>;

const OPTIONS = {
  // The older protocol is enough. With it, a server without a password accepts a needless one with a warning only.
  protocol: 2,
  connectionName: 'gatehouse',
  autoResendUnfulfilledCommands: false,
  maxRetriesPerRequest: 0,
  connectTimeout: 1000,
  disconnectTimeout: 100,
  // Only for a handshake that hangs: commands have their own limit, which is much shorter.
  commandTimeout: 1000,
} satisfies RedisOptions;
const retryStrategy = (times: number): number => Math.min(100 * 2 ** (times - 1), 2000);
const SERVER_OPTIONS = { ...OPTIONS, enableOfflineQueue: false, retryStrategy } satisfies RedisOptions;

/** A server that knows no other does not know its own address, and a new one has no slots either: no client finds it then. */
const NAMELESS = Object.assign(new Error('CLUSTER SLOTS has no address'), { code: 'NO_CLUSTER_ADDRESS' });

/** Starts to connect. Nothing is queued while there is no connection. */
export const openRedis = (address: RedisAddress): RedisClient => {
  if (address.kind === 'server') return new Redis(address.url, SERVER_OPTIONS);
  const { nodes, username, password, isTls, primary, sentinelPassword } = address;
  const access = {
    ...(username === undefined ? {} : { username }),
    ...(password === undefined ? {} : { password }),
    ...(isTls ? { tls: {} } : {}),
  };
  if (address.kind === 'cluster') {
    const cluster = new Cluster([...nodes], {
      enableOfflineQueue: false,
      clusterRetryStrategy: retryStrategy,
      // Who asks has waited long enough when a server is gone; what is lost is found out by a probe.
      retryDelayOnFailover: 50,
      retryDelayOnClusterDown: 50,
      maxRedirections: 4,
      slotsRefreshInterval: 2000,
      redisOptions: { ...OPTIONS, ...access },
    });
    // The client library leaves out servers without an address, and goes on looking without a word.
    cluster.on('refresh', () => {
      if (cluster.nodes('all').length === 0) cluster.emit('error', NAMELESS);
    });
    return cluster;
  }
  return new Redis({
    ...SERVER_OPTIONS,
    ...access,
    sentinels: [...nodes],
    name: primary,
    sentinelRetryStrategy: retryStrategy,
    sentinelCommandTimeout: OPTIONS.commandTimeout,
    ...(sentinelPassword === undefined ? {} : { sentinelPassword }),
    ...(isTls ? { enableTLSForSentinelMode: true } : {}),
  });
};

/** Rejects unless every server that holds keys answers. Of a cluster one may be gone while the others are well. */
export const pingServers = async (client: RedisClient): Promise<void> => {
  if (client instanceof Cluster) await Promise.all(client.nodes('master').map((node) => node.ping()));
};

/**
 * What is returned is called before each command: commands of one turn of the event loop are then one write for each server, and one
 * read there, half of Redis' processor time. The client's own way to do that, auto-pipelining, also holds commands back until those
 * before are answered: a command would take up to two round trips, and a Redis farther away than half the time limit would be lost.
 */
export const createSharedWrites = (client: RedisClient): (() => void) => {
  let isHeld = false;
  return () => {
    if (isHeld) return;
    isHeld = true;
    const servers = client instanceof Cluster ? client.nodes('master') : [client];
    // A server that is not connected yet has no stream, whatever its type says.
    const streams = servers.flatMap(({ stream }) => stream ?? []);
    for (const stream of streams) stream.cork();
    setImmediate(() => {
      isHeld = false;
      for (const stream of streams) stream.uncork();
    });
  };
};
