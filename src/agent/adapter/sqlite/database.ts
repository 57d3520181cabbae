import type { DatabaseSync, StatementSync } from 'node:sqlite';

/** How long SQLite itself waits for another process. Short, because the whole process stands still meanwhile. */
export const BUSY_MS = 2000;
/** How long a commit waits for another process, without blocking this one. */
export const COMMIT_BUSY_LIMIT_MS = 10_000;

/** A transaction reads one state of the database. Only an `IMMEDIATE` one may write. */
type TransactionKind = 'DEFERRED' | 'IMMEDIATE';

/** Runs `body` in a transaction: commits when it returns, rolls back when it throws. */
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
      // An error such as a full disk has ended the transaction already, and says why.
    }
    throw error;
  }
};

/** Prepares SQL, each text once. */
export type Statements = (sql: string) => StatementSync;

export const createStatementCache = (database: DatabaseSync): Statements => {
  const prepared = new Map<string, StatementSync>();
  return (sql) => {
    const known = prepared.get(sql) ?? database.prepare(sql);
    prepared.set(sql, known);
    return known;
  };
};
