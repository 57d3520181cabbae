import type { DatabaseSync } from 'node:sqlite';
import { ConfigError } from '../../core/config.ts';

const BUSY = 5;
const REASONS: ReadonlyMap<number, string> = new Map([
  [BUSY, 'expected a database that no other process holds locked'],
  [8, 'expected a file that this process may write, in a directory that it may write'],
  [11, 'expected a sound database, and this one is damaged'],
  [14, 'expected a file that can be opened or made, in a directory that this process may write'],
  [26, 'expected a SQLite database, and the file is none'],
]);

/** The low byte of SQLite's code for an error is its kind; the rest only says where inside SQLite. */
const kindOf = (error: Error): number | undefined =>
  'errcode' in error && typeof error.errcode === 'number' ? error.errcode & 0xff : undefined;

/** Whether SQLite did nothing because another process is at work. */
export const isBusy = (error: unknown): boolean => error instanceof Error && kindOf(error) === BUSY;

/** What is wrong with the database that was configured. Names the variable, never the path in it. */
export const databaseProblem = (reason: string): ConfigError => new ConfigError([`AGENT_DATABASE_URL: ${reason}`]);

/** An error of opening a file as a problem of the configuration, or as it was when it is none. */
export const asDatabaseProblem = (error: unknown): unknown => {
  if (!(error instanceof Error)) return error;
  const known = REASONS.get(kindOf(error) ?? 0);
  if (known !== undefined) return databaseProblem(known);
  const code = 'syscall' in error && 'code' in error ? String(error.code) : undefined;
  return code === undefined ? error : databaseProblem(`expected a file that can be opened or made (${code})`);
};

/** Reads see one state of the database in it; only `IMMEDIATE` may write. */
export type TransactionKind = 'DEFERRED' | 'IMMEDIATE';

/** Runs `body` in a transaction of its own: what it did is kept when it returns, and undone when it throws. */
export const inTransaction = <T>(database: DatabaseSync, kind: TransactionKind, body: () => T): T => {
  database.exec(`BEGIN ${kind}`);
  try {
    const value = body();
    database.exec('COMMIT');
    return value;
  } catch (error) {
    try {
      database.exec('ROLLBACK');
    } catch {
      // A full disk and the like have ended the transaction already, and the first error says why.
    }
    throw error;
  }
};
