import type { DatabaseSync } from 'node:sqlite';
import { BUSY_MS } from './database.ts';
import { inTransaction, isBusy } from './errors.ts';

/** How long a group rests before it is tried again, when another process is writing. */
const AGAIN_AFTER_MS = 10;

export type WriteQueue = {
  /** Runs `task` in the order of asking, and settles once what it did is on the disk. */
  readonly add: <T>(task: () => T) => Promise<T>;
  /** Does now what was asked for so far. What cannot be done now fails. */
  readonly finish: () => void;
};

type Waiting = {
  /** Does the task, and gives what is to be told once the group is on the disk. */
  readonly run: () => () => void;
  readonly fail: (error: unknown) => void;
};

/**
 * Writes that are asked for in one turn of the event loop go to the disk together: the wait for the disk, of which all of
 * the cost consists, is then for all of them one. A task that throws is undone alone; when the disk fails, all fail. While
 * another process writes they wait their turn, for `busyLimitMs` at most, and nothing stands still meanwhile.
 */
export const createWriteQueue = (database: DatabaseSync, busyLimitMs: number): WriteQueue => {
  const mark = database.prepare('SAVEPOINT task');
  const undo = database.prepare('ROLLBACK TO task');
  const release = database.prepare('RELEASE task');
  let waiting: Waiting[] = [];
  let busySinceMs: number | undefined;

  const undoTask = (error: unknown): void => {
    try {
      undo.run();
      release.run();
    } catch {
      // The transaction is gone, and the tasks before this one with it.
      throw error;
    }
  };
  const isToWait = (error: unknown): boolean => {
    if (!isBusy(error)) return false;
    busySinceMs ??= performance.now();
    return performance.now() - busySinceMs < busyLimitMs;
  };
  /** Waits for nobody: SQLite itself would hold up the whole process. */
  const atOnce = <T>(work: () => T): T => {
    database.exec('PRAGMA busy_timeout = 0');
    try {
      return work();
    } finally {
      database.exec(`PRAGMA busy_timeout = ${BUSY_MS}`);
    }
  };
  const flush = (isLast: boolean): void => {
    const group = waiting;
    waiting = [];
    if (group.length === 0) return;
    const work = () => inTransaction(database, 'IMMEDIATE', () => group.map(({ run }) => run()));
    try {
      const tellings = isLast ? work() : atOnce(work);
      busySinceMs = undefined;
      for (const tell of tellings) tell();
    } catch (error) {
      if (!isLast && isToWait(error)) {
        // Nothing of it was done. Whoever comes meanwhile stands behind.
        waiting = group;
        setTimeout(flush, AGAIN_AFTER_MS, false);
        return;
      }
      busySinceMs = undefined;
      for (const { fail } of group) fail(error);
    }
  };
  return {
    add: (task) =>
      new Promise((resolve, reject) => {
        // After the turn's other events: several sessions that speak at once are then one group.
        if (waiting.length === 0) setImmediate(flush, false);
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
    finish: () => flush(true),
  };
};
