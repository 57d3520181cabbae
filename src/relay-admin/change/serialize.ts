import { createKeyedQueue, type KeyedQueue } from '../../core/keyed-queue.ts';
import type { Semaphore } from '../../core/semaphore.ts';
import { RelayError } from '../errors/errors.ts';
import { acquireSlot } from '../relay/client.ts';

/** How many changes of one tool may wait for their subject. */
const WAITING_LIMIT = 100;

export type ChangeQueueNeeds = {
  /** Bounds concurrent changes; one for all tools. */
  readonly changes: Semaphore;
};

/**
 * A queue for the changes of one tool: one at a time for each subject (user or account), within the limit that all tools
 * share. A change that waits for its subject holds no slot yet, so a long queue for one subject blocks no other.
 */
export const createChangeQueue = ({ changes }: ChangeQueueNeeds): Pick<KeyedQueue, 'acquire'> => {
  const queue = createKeyedQueue({
    count: WAITING_LIMIT,
    per: 'queue',
    createError: () => new RelayError({ kind: 'busy' }),
  });
  return {
    async acquire(subject, signal) {
      const releaseSubject = await queue.acquire(subject, signal);
      try {
        const releaseSlot = await acquireSlot(changes, signal);
        return () => {
          releaseSlot();
          releaseSubject();
        };
      } catch (error) {
        releaseSubject();
        throw error;
      }
    },
  };
};
