import type { DatabaseSync } from 'node:sqlite';
import { inTransaction } from './sqlite-transaction.ts';

export type WriteQueue = {
  /** Runs `task` in the order of asking, and settles once what it did is on the disk. */
  readonly add: <T>(task: () => T) => Promise<T>;
  /** Does now what was asked for so far. */
  readonly flush: () => void;
};

type Waiting = {
  /** Does the task, and gives what is to be told once the group is on the disk. */
  readonly run: () => () => void;
  readonly fail: (error: unknown) => void;
};

/**
 * Writes that are asked for in one turn of the event loop go to the disk together: the wait for the disk, of which all of
 * the cost consists, is then for all of them one. A task that throws is undone alone; when the disk fails, all fail.
 */
export const createWriteQueue = (database: DatabaseSync): WriteQueue => {
  const mark = database.prepare('SAVEPOINT task');
  const undo = database.prepare('ROLLBACK TO task');
  const release = database.prepare('RELEASE task');
  let waiting: Waiting[] = [];

  const undoTask = (error: unknown): void => {
    try {
      undo.run();
      release.run();
    } catch {
      // The transaction is gone, and the tasks before this one with it.
      throw error;
    }
  };
  const flush = (): void => {
    const group = waiting;
    waiting = [];
    if (group.length === 0) return;
    try {
      const tellings = inTransaction(database, 'IMMEDIATE', () => group.map(({ run }) => run()));
      for (const tell of tellings) tell();
    } catch (error) {
      for (const { fail } of group) fail(error);
    }
  };
  return {
    add: (task) =>
      new Promise((resolve, reject) => {
        // After the turn's other events: several sessions that speak at once are then one group.
        if (waiting.length === 0) setImmediate(flush);
        const run = () => {
          mark.run();
          let value: ReturnType<typeof task>;
          try {
            value = task();
          } catch (error) {
            undoTask(error);
            return () => reject(error);
          }
          release.run();
          return () => resolve(value);
        };
        waiting.push({ run, fail: reject });
      }),
    flush,
  };
};
