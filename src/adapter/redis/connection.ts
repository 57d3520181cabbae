import { Redis, type RedisOptions, ReplyError } from 'ioredis';
import type { Clock } from '../../core/clock.ts';
import type { Log } from '../../core/log.ts';

/** Redis took too long. A class of its own, because the client's words for it are no code. */
export class SilentRedis extends Error {
  override readonly name = 'SilentRedis';
}

const CODE = /^[A-Z][A-Z0-9_]{1,40}(?= |$)/;

/** An error as one word for the log. Never its message: that may hold an address, a command or what somebody stored. */
export const redisCodeOf = (error: unknown): string => {
  if (error instanceof SilentRedis) return 'timeout';
  if (!(error instanceof Error)) return 'unknown';
  // The server's own errors begin with their code: WRONGPASS, NOAUTH, READONLY, OOM.
  if (error instanceof ReplyError) return CODE.exec(error.message)?.[0] ?? 'unknown';
  if ('code' in error && typeof error.code === 'string' && CODE.test(error.code)) return error.code;
  return error.message === 'Command timed out' ? 'timeout' : 'not-connected';
};

/**
 * Settles like `answer` if that comes within `limitMs`, else rejects. An event loop that was blocked runs its timers
 * before it reads what has long arrived, so the answer gets one more turn.
 */
export const within = <T>(
  answer: Promise<T>,
  limitMs: number,
  after: (delayMs: number, task: () => void) => () => void,
): Promise<T> =>
  new Promise((resolve, reject) => {
    const cancel = after(limitMs, () => setImmediate(() => reject(new SilentRedis('No answer in time'))));
    answer.then(resolve, reject).finally(cancel);
  });

export type RedisLinkNeeds = {
  readonly url: string;
  readonly log: Log;
  readonly clock: Clock;
  readonly channel: string;
  /** A key that the link writes to find out whether Redis takes writes. */
  readonly trialKey: string;
};

/** A connection that never makes its user wait long and never fails: it answers, or at once with nothing. */
export type RedisLink = {
  readonly ask: <T>(command: (redis: Redis) => Promise<T>) => Promise<T | undefined>;
  readonly isUp: () => boolean;
  /** Runs whenever the link comes up, the first time and every later one; the channel is subscribed to by then. */
  readonly onUp: (listener: () => void) => void;
  readonly onMessage: (listener: (text: string) => void) => void;
  readonly close: () => Promise<void>;
};

const ANSWER_LIMIT_MS = 100;
const LOOK_EVERY_MS = 10_000;
const TRIAL_AFTER_MS = 500;
const LONGEST_TRIAL_WAIT_MS = 30_000;
/** A link that is lost again within this time is tried again only after twice the wait. */
const CALM_AFTER_MS = 60_000;

/** Does what every use needs: a script that may run and write. A PING is answered even where nothing else is allowed. */
const TRIAL = "return redis.call('SET', KEYS[1], '1', 'PX', 1000)";

const OPTIONS = {
  // The older protocol is enough, and a server without a password then takes a needless one with a warning only.
  protocol: 2,
  connectionName: 'gatehouse',
  enableOfflineQueue: false,
  autoResendUnfulfilledCommands: false,
  maxRetriesPerRequest: 0,
  connectTimeout: 1000,
  disconnectTimeout: 100,
  // Only ends a handshake that hangs; the link's own limit is much shorter.
  commandTimeout: 1000,
  retryStrategy: (times) => Math.min(100 * 2 ** (times - 1), 2000),
} satisfies RedisOptions;

export const createRedisLink = ({ url, log, clock, channel, trialKey }: RedisLinkNeeds): RedisLink => {
  const commands = new Redis(url, OPTIONS);
  const messages = new Redis(url, OPTIONS);
  const both = [commands, messages];
  const upListeners: (() => void)[] = [];
  let state: 'new' | 'up' | 'lost' | 'closed' = 'new';
  let returnedAt = Number.NEGATIVE_INFINITY;
  let relapses = 0;
  let isLooking = false;
  let cancelLook = (): void => {};

  const answered = <T>(answer: Promise<T>): Promise<T> => within(answer, ANSWER_LIMIT_MS, clock.after);
  const schedule = (): void => {
    cancelLook();
    const trialMs = Math.min(TRIAL_AFTER_MS * 2 ** relapses, LONGEST_TRIAL_WAIT_MS);
    if (state !== 'closed') cancelLook = clock.after(state === 'up' ? LOOK_EVERY_MS : trialMs, look);
  };

  const lose = (error: unknown): void => {
    if (state === 'lost' || state === 'closed') return;
    relapses = clock.now() - returnedAt < CALM_AFTER_MS ? relapses + 1 : 0;
    state = 'lost';
    log('warn', 'shared-state-lost', { reason: redisCodeOf(error) });
    schedule();
  };
  const recover = (): void => {
    if (state === 'up' || state === 'closed') return;
    if (state === 'lost') {
      log('info', 'shared-state-back');
      returnedAt = clock.now();
    }
    state = 'up';
    for (const listener of upListeners) listener();
  };

  /** Both connections have to answer: one may be dead in silence while nothing is asked of it. */
  const look = async (): Promise<void> => {
    if (isLooking) return;
    isLooking = true;
    try {
      await Promise.all([answered(commands.eval(TRIAL, 1, trialKey)), answered(messages.subscribe(channel))]);
      recover();
    } catch (error) {
      lose(error);
      // Silence may be the old connection's alone, and so may be a server that only reads now.
      for (const redis of both) if (redis.status === 'ready' && state === 'lost') redis.disconnect(true);
    }
    isLooking = false;
    schedule();
  };

  for (const redis of both) {
    redis.on('error', lose);
    redis.on('close', () => lose(new Error('connection closed')));
    redis.on('ready', () => {
      if (state === 'new' && both.every(({ status }) => status === 'ready')) look();
    });
  }

  return {
    async ask(command) {
      if (state !== 'up') return undefined;
      try {
        return await answered(command(commands));
      } catch (error) {
        // Somebody else's value under our name: the server is well.
        if (redisCodeOf(error) !== 'WRONGTYPE') lose(error);
        return undefined;
      }
    },
    isUp: () => state === 'up',
    onUp: (listener) => upListeners.push(listener),
    onMessage: (listener) => messages.on('message', (_, text) => listener(text)),
    async close() {
      state = 'closed';
      cancelLook();
      // QUIT is answered after everything that was sent before it.
      await Promise.allSettled(both.map((redis) => answered(redis.quit())));
      for (const redis of both) redis.disconnect();
    },
  };
};
