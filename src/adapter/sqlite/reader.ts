import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import type { SessionReader } from '../../agent/session/list.ts';
import { BUSY_MS } from './database.ts';
import { asDatabaseProblem, databaseProblem, inTransaction } from './errors.ts';
import { createSqliteReads, createStatements } from './reads.ts';

import { MIGRATIONS, refuseForeign } from './schema.ts';

const prepareReader = (database: DatabaseSync): void => {
  database.exec(`PRAGMA busy_timeout = ${BUSY_MS}`);
  refuseForeign(database);
  const version = database.prepare('PRAGMA user_version').get()?.user_version;
  if (version !== MIGRATIONS.length)
    throw databaseProblem('expected a database that a server of this release has used');
};

/**
 * Opens the file of a store for reading alone, beside the server that writes it: nothing is made, migrated or waited for,
 * and nothing is held between two questions, so that the server can put away what it has written. Whatever is wrong with the
 * file is a `ConfigError`.
 */
export const openSqliteReader = async (file: string): Promise<SessionReader> => {
  const { DatabaseSync } = await import('node:sqlite');
  const path = resolve(file);
  if (!existsSync(path)) throw databaseProblem('expected a file that is there');
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(path, { readOnly: true });
    prepareReader(database);
  } catch (error) {
    database?.close();
    throw asDatabaseProblem(error);
  }
  const opened = database;
  const reads = createSqliteReads(createStatements(opened));
  return {
    session: async (id) => reads.session(id),
    sessions: async (asked) => reads.sessions(asked),
    sessionOutlines: async () => reads.sessionOutlines(),
    outline: async (sessionID, asked = {}) => reads.outline(sessionID, asked),
    message: async (sessionID, messageID) =>
      inTransaction(opened, 'DEFERRED', () => reads.message(sessionID, messageID)),
    output: async (sessionID, partID) => reads.output(sessionID, partID),
    unfinished: async () => inTransaction(opened, 'DEFERRED', () => reads.unfinished()),
    // Which server has the file, and what waits there, is not in it.
    busy: async () => [],
    close: async () => opened.close(),
  };
};
