import type { DatabaseSync } from 'node:sqlite';

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
