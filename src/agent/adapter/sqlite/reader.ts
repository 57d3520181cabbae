import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import type { SessionReader } from '../../session/list.ts';
import { databaseConfigError } from '../sql-store.ts';
import { BUSY_MS, createStatementCache, inTransaction } from './database.ts';
import { explainSqliteError } from './errors.ts';
import { createSqliteReads } from './reads.ts';
import { refuseForeign, SQLITE_MIGRATIONS } from './schema.ts';

const prepareReader = (database: DatabaseSync): void => {
  database.exec(`PRAGMA busy_timeout = ${BUSY_MS}`);
  refuseForeign(database);
  const version = database.prepare('PRAGMA user_version').get()?.user_version;
  if (version !== SQLITE_MIGRATIONS.length)
    throw databaseConfigError('expected a database that a server of this release has used');
};

/**
 * Opens the file of a store read-only, beside the server that writes it. Creates and migrates nothing, and holds no lock
 * between two reads, so that the server can checkpoint its write-ahead log. Throws a `ConfigError` when the file cannot be
 * used.
 */
export const openSqliteReader = async (file: string): Promise<SessionReader> => {
  const { DatabaseSync } = await import('node:sqlite');
  const path = resolve(file);
  if (!existsSync(path))
    throw databaseConfigError(`no file ${path}: run this where the server runs, or set the variable as it is there`);
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(path, { readOnly: true });
    prepareReader(database);
  } catch (error) {
    database?.close();
    throw explainSqliteError(error);
  }
  const opened = database;
  const reads = createSqliteReads(createStatementCache(opened));
  return {
    session: async (id) => reads.session(id),
    sessions: async (selection) => reads.sessions(selection),
    sessionOutlines: async () => reads.sessionOutlines(),
    messageOutlines: async (sessionID, selection = {}) => reads.outline(sessionID, selection),
    message: async (sessionID, messageID) =>
      inTransaction(opened, 'DEFERRED', () => reads.message(sessionID, messageID)),
    output: async (sessionID, partID) => reads.output(sessionID, partID),
    unfinished: async () => inTransaction(opened, 'DEFERRED', () => reads.unfinished()),
    owed: async (sessionID) => reads.owed(sessionID),
    // The file does not say which sessions a server works on.
    busy: async () => [],
    close: async () => opened.close(),
  };
};
