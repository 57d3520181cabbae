import { closeSync, openSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { isThere, makeDirectory } from '../node/files.ts';
import { asDatabaseProblem, databaseProblem } from './errors.ts';
import { migrate, refuseForeign } from './schema.ts';

/** The whole process stands still while it waits for another one, so not for long. */
export const BUSY_MS = 2000;

/**
 * Makes the file for its owner alone: SQLite itself would let everyone read it. One that is there is not even opened,
 * since closing it would take away every lock that this process holds on it.
 */
const makeFile = (path: string): void => {
  makeDirectory(dirname(path));
  try {
    closeSync(openSync(path, 'wx', 0o600));
  } catch (error) {
    if (!isThere(error)) throw error;
  }
};

const prepareDatabase = (database: DatabaseSync): void => {
  database.exec(`PRAGMA busy_timeout = ${BUSY_MS}`);
  refuseForeign(database);
  const mode = database.prepare('PRAGMA journal_mode = WAL').get()?.journal_mode;
  if (mode !== 'wal') throw databaseProblem('expected a file on a local file system (no write-ahead log is possible)');
  // What is committed survives a power cut.
  database.exec('PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON');
  migrate(database);
};

/**
 * Opens a file as a database of the newest version, and makes it and its directory when they are not there. Whatever is
 * wrong with it is a `ConfigError`. Asks for SQLite only now: older Nodes have none, and are to be told so first.
 */
export const openDatabase = async (file: string): Promise<DatabaseSync> => {
  const { DatabaseSync } = await import('node:sqlite');
  const path = resolve(file);
  let database: DatabaseSync | undefined;
  try {
    makeFile(path);
    database = new DatabaseSync(path);
    prepareDatabase(database);
    return database;
  } catch (error) {
    database?.close();
    throw asDatabaseProblem(error);
  }
};
