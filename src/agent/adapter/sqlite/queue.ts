import type { DatabaseSync } from 'node:sqlite';
import { BUSY_MS, inTransaction } from './database.ts';
import { isBusy, isDiskFull } from './errors.ts';

/** The pause before a group is retried when another process is writing. */
const RETRY_AFTER_MS = 10;
/** A group that took longer has written much: copying it from the log into the database takes as long again. */
const LONG_GROUP_MS = 5;
/** In pages of 4 KiB, as SQLite has it by default. */
const CHECKPOINT_PAGES = 1000;

type WriteQueue = {
  /** Runs tasks in the order of the calls. Settles once the task's writes are on the disk. */
  readonly add: <T>(task: () => T) => Promise<T>;
  /** Runs all waiting tasks now. Tasks that cannot run now fail. */
  readonly finish: () => void;
};

type PendingWrite = {
  /** Runs the task, and returns the function that settles its promise once the group is on the disk. */
  readonly run: () => () => void;
  readonly fail: (error: unknown) => void;
};

/**
 * Groups the writes of one turn of the event loop into one transaction: waiting for the disk is nearly all of their cost. A
 * task that throws is rolled back alone; when the disk fails, all of them fail, and when it is full, those that need space. While another process writes, the group waits
 * for at most `busyLimitMs`, without blocking the event loop. The checkpoint behind a long group runs in a later turn. `onFailure` receives each error, and returns the one to reject with.
 */
export const createWriteQueue = (
  database: DatabaseSync,
  busyLimitMs: number,
  onFailure: (error: unknown) => unknown,
): WriteQueue => {
  const mark = database.prepare('SAVEPOINT task');
  const undo = database.prepare('ROLLBACK TO task');
  const release = database.prepare('RELEASE task');
  let waiting: PendingWrite[] = [];
  let busySinceMs: number | undefined;

  const undoFailedTask = (error: unknown): void => {
    try {
      undo.run();
      release.run();
    } catch {
      // The transaction has ended, and the earlier tasks are rolled back with it.
      throw error;
    }
  };
  const canWait = (error: unknown): boolean => {
    if (!isBusy(error)) return false;
    busySinceMs ??= performance.now();
    return performance.now() - busySinceMs < busyLimitMs;
  };
  /** Without SQLite's own waiting, which would block the whole process. */
  const withoutWaiting = <T>(work: () => T): T => {
    database.exec('PRAGMA busy_timeout = 0');
    try {
      return work();
    } finally {
      database.exec(`PRAGMA busy_timeout = ${BUSY_MS}`);
    }
  };
  const setCheckpointPages = (pages: number): void => database.exec(`PRAGMA wal_autocheckpoint = ${pages}`);
  const checkpoint = (): void => {
    if (!database.isOpen) return;
    try {
      database.exec('PRAGMA wal_checkpoint(PASSIVE)');
    } catch {
      // What was committed is in the log. SQLite ignores a failed checkpoint behind a commit as well.
    }
  };
  /** Commits the group. SQLite would do a checkpoint before it returns, which may block the event loop for longer than the writes. */
  const runGroup = (group: readonly PendingWrite[]): readonly (() => void)[] => {
    const sinceMs = performance.now();
    let isLong = false;
    try {
      return inTransaction(database, 'IMMEDIATE', () => {
        const settlers = group.map(({ run }) => run());
        isLong = performance.now() - sinceMs > LONG_GROUP_MS;
        if (isLong) setCheckpointPages(0);
        return settlers;
      });
    } finally {
      if (isLong) {
        setCheckpointPages(CHECKPOINT_PAGES);
        setTimeout(checkpoint, 0);
      }
    }
  };
  const flush = (isLast: boolean): void => {
    let rest = waiting;
    waiting = [];
    let size = rest.length;
    while (rest.length > 0) {
      const group = rest.slice(0, size);
      const work = () => runGroup(group);
      try {
        const settlers = isLast ? work() : withoutWaiting(work);
        busySinceMs = undefined;
        for (const settle of settlers) settle();
      } catch (error) {
        if (!isLast && canWait(error)) {
          // Nothing was written. Tasks that are added meanwhile run after these.
          waiting = rest;
          setTimeout(flush, RETRY_AFTER_MS, false);
          return;
        }
        busySinceMs = undefined;
        if (group.length > 1 && isDiskFull(error)) {
          // SQLite has rolled back all of them, and some may need no space.
          size = 1;
          continue;
        }
        const reason = onFailure(error);
        for (const { fail } of group) fail(reason);
      }
      rest = rest.slice(size);
    }
  };
  return {
    add: (task) =>
      new Promise((resolve, reject) => {
        // Runs after the other events of this turn of the event loop, so that several sessions share one group.
        if (waiting.length === 0) setImmediate(flush, false);
        const run = () => {
          mark.run();
          let value: ReturnType<typeof task>;
          try {
            value = task();
          } catch (error) {
            undoFailedTask(error);
            const reason = onFailure(error);
            return () => reject(reason);
          }
          release.run();
          return () => resolve(value);
        };
        waiting.push({ run, fail: reject });
      }),
    finish: () => flush(true),
  };
};
