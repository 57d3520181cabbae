import { Redis } from 'ioredis';
import { systemClock } from '../../../../../src/adapter/node/clock.ts';
import type { Clock } from '../../../../../src/core/clock.ts';
import { createLog } from '../../../../../src/core/log.ts';
import { createRedisState, type RedisState } from '../../../../../src/gateway/adapter/redis/shared-state.ts';
import { createRedisSigner } from '../../../../../src/gateway/adapter/redis/verdicts.ts';
import type { KeyChange, SharedCoolDown } from '../../../../../src/llm/key-state.ts';
import { freePort, startRedis, until } from '../servers.ts';

export const SCORES = [0, 0.01, 0.5, 1, 0, 0, 0, 0.25, 0, 0, 0, 0.99, 0.3];

export const REST: KeyChange = {
  fingerprint: 'key-1',
  state: 'cooling',
  coolDownMs: 60_000,
  reason: 'quota',
  strikes: 2,
};

export const END: KeyChange = { fingerprint: 'key-1', state: 'active', coolDownMs: 0, strikes: 0 };

const SECRET = 'a secret of all replicas';
/** What a replica writes under a name. */
export const signed = createRedisSigner(SECRET);

let common: Promise<Awaited<ReturnType<typeof startRedis>>> | undefined;

const commonRedis = () => {
  common ??= freePort().then((port) => startRedis(port));
  return common;
};

type World = {
  readonly url: string;
  readonly prefix: string;
  /** One more replica of the gateway, with what it logs. */
  readonly replica: (url?: string, clock?: Clock, secret?: string) => RedisState;
  readonly connected: () => Promise<RedisState>;
  readonly lines: string[];
  readonly events: () => string[];
  /** A plain client, to look behind the scenes. */
  readonly redis: Redis;
};

let worlds = 0;

/** Replicas on one Redis, each check under names of its own; all is closed in the end. */
export const inWorld = (body: (world: World) => Promise<void>, url?: string) => async (): Promise<void> => {
  const address = url ?? (await commonRedis()).url;
  worlds += 1;
  const prefix = `check-${worlds}:`;
  const states: RedisState[] = [];
  const lines: string[] = [];
  const log = createLog({ level: 'debug', service: 'check', clock: systemClock, write: (line) => lines.push(line) });
  const redis = new Redis(address, { protocol: 2, lazyConnect: true });
  redis.on('error', () => {});
  const replica: World['replica'] = (of = address, clock = systemClock, secret = SECRET) => {
    const state = createRedisState({ address: { kind: 'server', url: of }, secret, log, clock, keyPrefix: prefix });
    states.push(state);
    return state;
  };
  const connected = async () => {
    const state = replica();
    await until(state.isUp, 'the connection');
    return state;
  };
  const events = () => lines.map((line) => JSON.parse(line).event);
  try {
    await body({ url: address, prefix, replica, connected, lines, events, redis });
  } finally {
    await Promise.all(states.map((state) => state.close()));
    redis.disconnect();
  }
};

/** Collects what a replica is told to adopt. */
export const receivedBy = (state: RedisState): SharedCoolDown[] => {
  const collected: SharedCoolDown[] = [];
  state.coolDowns.subscribe((rest) => collected.push(rest));
  return collected;
};
