import { createHash } from 'node:crypto';
import type { RedisCommands } from './client.ts';

/** A script, as a command that its digest names. */
export type RedisScript = (redis: RedisCommands, key: string, ...values: (string | number)[]) => Promise<unknown>;

/**
 * Runs a script of one key by its digest, which Redis knows from the first time on: to send and read the text costs as much as to
 * run it. A server that does not know it, such as a new primary, or allows this user EVAL alone, is sent the text. The client's own
 * way to do that does not do it for commands that share a write.
 */
export const createRedisScript = (text: string): RedisScript => {
  const digest = createHash('sha1').update(text).digest('hex');
  return async (redis, key, ...values) => {
    try {
      return await redis.evalsha(digest, 1, key, ...values);
    } catch (error) {
      if (!(error instanceof Error) || !/^NO(?:SCRIPT|PERM) /.test(error.message)) throw error;
      return redis.eval(text, 1, key, ...values);
    }
  };
};
