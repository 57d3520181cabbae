import { createKeyedQueue, type KeyedQueue } from '../../core/keyed-queue.ts';
import type { Semaphore } from '../../core/semaphore.ts';
import { Problem } from '../errors.ts';
import { placeBehind } from '../relay/client.ts';

/** How many may wait for subjects of one tool. */
const WAITING_LIMIT = 100;

export type ChangeTurnsNeeds = {
  /** Bounds what is changed at a time; one for all tools. */
  readonly changes: Semaphore;
};

/**
 * The turns of one tool's subjects, each with a place behind the gate that all changes share. Who waits for a subject
 * holds no place yet, so a long line for one of them keeps nobody else out.
 */
export const createChangeTurns = ({ changes }: ChangeTurnsNeeds): Pick<KeyedQueue, 'acquire'> => {
  const turns = createKeyedQueue({
    count: WAITING_LIMIT,
    per: 'queue',
    createError: () => new Problem({ kind: 'busy' }),
  });
  return {
    async acquire(subject, signal) {
      const free = await turns.acquire(subject, signal);
      try {
        const leave = await placeBehind(changes, signal);
        return () => {
          leave();
          free();
        };
      } catch (error) {
        free();
        throw error;
      }
    },
  };
};
