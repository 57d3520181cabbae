import { ReplyError } from 'ioredis';
import type { Clock } from '../../../core/clock.ts';
import type { Log } from '../../../core/log.ts';
import type { RedisAddress } from './address.ts';
import { createSharedWrites, openRedis, pingServers, type RedisCommands } from './client.ts';
import { createTimeLimit, RedisTimeout } from './time-limit.ts';

const ERROR_CODE = /^[A-Z][A-Z0-9_]{1,40}(?= |$)/;

/** An error code for the log. Never the message, which may hold an address, a command or stored data. */
const redisErrorCode = (error: unknown): string => {
  if (error instanceof RedisTimeout) return 'timeout';
  if (!(error instanceof Error)) return 'unknown';
  // The server's own errors begin with their code: WRONGPASS, NOAUTH, READONLY, OOM.
  if (error instanceof ReplyError) return ERROR_CODE.exec(error.message)?.[0] ?? 'unknown';
  if ('code' in error && typeof error.code === 'string' && ERROR_CODE.test(error.code)) return error.code;
  return error.message === 'Command timed out' ? 'timeout' : 'not-connected';
};

type RedisConnectionOptions = {
  readonly address: RedisAddress;
  readonly log: Log;
  readonly clock: Clock;
  readonly channel: string;
  /** A key that is written to find out whether Redis accepts writes. */
  readonly probeKey: string;
};

/** A connection that never blocks its users for long and never throws: without an answer they get undefined. */
export type RedisConnection = {
  readonly run: <T>(command: (redis: RedisCommands) => Promise<T>) => Promise<T | undefined>;
  /** Runs it with the next command, in one write, or after a few milliseconds without one. No request waits for its reply. */
  readonly runSoon: (command: (redis: RedisCommands) => Promise<unknown>) => void;
  readonly isUp: () => boolean;
  /** Called each time the connection comes up, including the first. The channel is subscribed by then. */
  readonly onUp: (listener: () => void) => void;
  readonly onMessage: (listener: (text: string) => void) => void;
  readonly close: () => Promise<void>;
};

const ANSWER_LIMIT_MS = 100;
/** How long a command whose reply no request waits for may wait for another one. */
const SOON_MS = 5;
const DELAYED_LIMIT = 256;
const PROBE_EVERY_MS = 10_000;
const RETRY_AFTER_MS = 500;
const LONGEST_RETRY_WAIT_MS = 30_000;
/** A connection that is lost again within this time doubles the wait before the next attempt. */
const STABLE_AFTER_MS = 60_000;

/** Checks what every use needs: a script that runs and writes. PING would succeed even where nothing else is allowed. */
const PROBE = "return redis.call('SET', KEYS[1], '1', 'PX', 1000)";

/** Opens one connection for commands and one for messages, and probes both. */
export const createRedisConnection = ({
  address,
  log,
  clock,
  channel,
  probeKey,
}: RedisConnectionOptions): RedisConnection => {
  const commands = openRedis(address);
  const messages = openRedis(address);
  const both = [commands, messages];
  const upListeners: (() => void)[] = [];
  let state: 'new' | 'up' | 'lost' | 'closed' = 'new';
  let returnedAt = Number.NEGATIVE_INFINITY;
  let relapses = 0;
  let isProbing = false;
  let cancelProbe = (): void => {};
  /** Each has a time limit. */
  const unanswered = new Set<Promise<unknown>>();
  const delayed: (() => void)[] = [];
  let cancelDelay = (): void => {};
  const runDelayed = (): void => {
    cancelDelay();
    for (const start of delayed.splice(0)) start();
  };

  const shareWrite = createSharedWrites(commands);
  const limited = createTimeLimit(ANSWER_LIMIT_MS, clock.after);
  const scheduleProbe = (): void => {
    cancelProbe();
    const retryMs = Math.min(RETRY_AFTER_MS * 2 ** relapses, LONGEST_RETRY_WAIT_MS);
    if (state !== 'closed') cancelProbe = clock.after(state === 'up' ? PROBE_EVERY_MS : retryMs, probe);
  };

  const markLost = (error: unknown): void => {
    if (state === 'lost' || state === 'closed') return;
    relapses = clock.now() - returnedAt < STABLE_AFTER_MS ? relapses + 1 : 0;
    state = 'lost';
    log('warn', 'shared-state-lost', { reason: redisErrorCode(error) });
    scheduleProbe();
  };
  const markUp = (): void => {
    if (state === 'up' || state === 'closed') return;
    if (state === 'lost') {
      log('info', 'shared-state-back');
      returnedAt = clock.now();
    }
    state = 'up';
    for (const listener of upListeners) listener();
  };

  /** Both connections must answer: one may be dead without an error while it is not used. */
  const probe = async (): Promise<void> => {
    if (isProbing) return;
    isProbing = true;
    try {
      await Promise.all([
        limited(pingServers(commands)),
        limited(commands.eval(PROBE, 1, probeKey)),
        limited(messages.subscribe(channel)),
      ]);
      markUp();
    } catch (error) {
      markLost(error);
      // A timeout, or a server that is read-only now, may concern the old connection alone.
      for (const redis of both) if (redis.status === 'ready' && state === 'lost') redis.disconnect(true);
    }
    isProbing = false;
    scheduleProbe();
  };

  for (const redis of both) {
    redis.on('error', markLost);
    redis.on('close', () => markLost(new Error('connection closed')));
    redis.on('ready', () => {
      if (state === 'new' && both.every(({ status }) => status === 'ready')) probe();
    });
  }

  const run: RedisConnection['run'] = async (command) => {
    if (state !== 'up') return undefined;
    if (delayed.length > 0) runDelayed();
    shareWrite();
    const answer = limited(command(commands));
    unanswered.add(answer);
    try {
      return await answer;
    } catch (error) {
      // Another program's value under one of our keys. The server is healthy.
      if (redisErrorCode(error) !== 'WRONGTYPE') markLost(error);
      return undefined;
    } finally {
      unanswered.delete(answer);
    }
  };

  return {
    run,
    runSoon(command) {
      if (state !== 'up') return;
      delayed.push(() => run(command));
      if (delayed.length === 1) cancelDelay = clock.after(SOON_MS, runDelayed);
      else if (delayed.length >= DELAYED_LIMIT) runDelayed();
    },
    isUp: () => state === 'up',
    onUp: (listener) => upListeners.push(listener),
    onMessage: (listener) =>
      messages.on('message', (_, text) => {
        try {
          listener(text);
        } catch (error) {
          log('error', 'bug', { reason: error instanceof Error ? error.name : typeof error });
        }
      }),
    async close() {
      runDelayed();
      state = 'closed';
      cancelProbe();
      // A command may be sent a second time, where a cluster moved it to: QUIT would pass it there, and it would be lost.
      await Promise.allSettled(unanswered);
      await Promise.allSettled(both.map((redis) => limited(redis.quit())));
      for (const redis of both) redis.disconnect();
    },
  };
};
