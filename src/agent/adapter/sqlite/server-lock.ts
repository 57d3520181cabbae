import { realpathSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { databaseConfigError } from '../sql-store.ts';
import { explainSqliteError, isBusy } from './errors.ts';
import { makeFile } from './schema.ts';

/**
 * Claims a database file, which has to exist, for one agent server, until the returned function is called or the process ends,
 * however it does: the lock is one of the operating system, on an empty file beside the database. The database itself stays free for
 * commands and readers. Throws a `ConfigError` when another server has claimed it, or the file cannot be made.
 */
export const claimServerFile = async (file: string): Promise<() => void> => {
  const { DatabaseSync } = await import('node:sqlite');
  let lock: DatabaseSync | undefined;
  try {
    // By whichever link a server came to the database, it has one lock.
    const path = `${realpathSync(file)}-server`;
    makeFile(path);
    lock = new DatabaseSync(path);
    lock.exec('PRAGMA busy_timeout = 0; BEGIN EXCLUSIVE');
  } catch (error) {
    lock?.close();
    if (isBusy(error))
      throw databaseConfigError(
        'expected a file that no other agent server uses, and one that runs does: stop it first, or use PostgreSQL for several servers',
      );
    throw explainSqliteError(error);
  }
  const claimed = lock;
  return () => claimed.close();
};
