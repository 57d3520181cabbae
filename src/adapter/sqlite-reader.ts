import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import type { SessionSource } from '../agent/export-session.ts';
import { createSqliteReads } from './sqlite-reads.ts';
import { createStatements } from './sqlite-rows.ts';
import { MIGRATIONS, refuseForeign } from './sqlite-schema.ts';
import { asDatabaseProblem, databaseProblem } from './sqlite-trouble.ts';

const BUSY_MS = 2000;

/** What one file held at one moment, until it is closed. */
export type SqliteSnapshot = SessionSource & { readonly close: () => void };

const prepareSnapshot = (database: DatabaseSync): void => {
  database.exec(`PRAGMA busy_timeout = ${BUSY_MS}`);
  refuseForeign(database);
  const version = database.prepare('PRAGMA user_version').get()?.user_version;
  if (version !== MIGRATIONS.length)
    throw databaseProblem('expected a database that a server of this release has used');
  // Never ended: all that is read in it is of the moment of the first reading.
  database.exec('BEGIN DEFERRED');
};

/**
 * Opens the file of a store for reading alone, beside the server that writes it: nothing is made, migrated or waited for.
 * Whatever is wrong with it is a `ConfigError`.
 */
export const openSqliteSnapshot = async (file: string): Promise<SqliteSnapshot> => {
  const { DatabaseSync } = await import('node:sqlite');
  const path = resolve(file);
  if (!existsSync(path)) throw databaseProblem('expected a file that is there');
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(path, { readOnly: true });
    prepareSnapshot(database);
  } catch (error) {
    database?.close();
    throw asDatabaseProblem(error);
  }
  const opened = database;
  const reads = createSqliteReads(createStatements(opened));
  return {
    session: async (id) => reads.session(id),
    sessions: async (asked) => reads.sessions(asked),
    messages: async (sessionID, asked = {}) => reads.messages(sessionID, asked),
    output: async (sessionID, partID) => reads.output(sessionID, partID),
    close: () => opened.close(),
  };
};
