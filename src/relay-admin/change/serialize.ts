import { createTurns, type Turns } from '../../core/keyed-queue.ts';
import type { Semaphore } from '../../core/semaphore.ts';
import { placeBehind } from '../relay/client.ts';

export type ChangeTurnsNeeds = {
  /** Bounds what is changed at a time; one for all tools. */
  readonly changes: Semaphore;
};

/**
 * The turns of one tool's subjects, each with a place behind the gate that all changes share. Who waits for a subject
 * holds no place yet, so a long line for one of them keeps nobody else out.
 */
export const createChangeTurns = ({ changes }: ChangeTurnsNeeds): Turns => {
  const turns = createTurns();
  return {
    async take(subject, signal) {
      const free = await turns.take(subject, signal);
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
