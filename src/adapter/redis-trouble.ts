import { ReplyError } from 'ioredis';

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
