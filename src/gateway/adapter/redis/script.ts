import { createHash } from 'node:crypto';
import type { RedisConnection } from './connection.ts';

/** A script, as a command that its digest names. Without an answer it returns undefined. */
export type RedisScript = (
  run: RedisConnection['run'],
  key: string,
  ...values: readonly (string | number)[]
) => Promise<unknown>;

const TEXT_IS_NEEDED = Symbol('text is needed');

/**
 * Runs a script of one key by its digest, which Redis knows from the first time on: to send and read the text costs as much as to
 * run it. A server that does not know it, such as a new primary, or allows this user EVAL alone, is sent the text, as a command with
 * a time limit of its own: both in one limit would lose a Redis that is far away. The client's own way does it for the former alone.
 */
export const createRedisScript = (text: string): RedisScript => {
  const digest = createHash('sha1').update(text).digest('hex');
  return async (run, key, ...values) => {
    const reply = await run((redis) =>
      redis.evalsha(digest, 1, key, ...values).catch((error: unknown) => {
        if (error instanceof Error && /^NO(?:SCRIPT|PERM) /.test(error.message)) return TEXT_IS_NEEDED;
        throw error;
      }),
    );
    return reply === TEXT_IS_NEEDED ? run((redis) => redis.eval(text, 1, key, ...values)) : reply;
  };
};
