import { closeSync, openSync } from 'node:fs';
import { resolve } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { isThere, makeDirectoryOf } from '../../../adapter/node/files.ts';
import { AWAITING, databaseConfigError } from '../sql-store.ts';
import { BUSY_MS, inTransaction } from './database.ts';
import { explainSqliteError } from './errors.ts';
import { TURN_TABLES } from './turns.ts';

/** In the header of the file: marks it as a database of the agent server (`Gate`). */
const APPLICATION_ID = 0x47617465;

const FIRST = `
  PRAGMA application_id = ${APPLICATION_ID};
  CREATE TABLE session (
    id TEXT PRIMARY KEY,
    directory TEXT NOT NULL, -- as JSON, like the data, so that every JavaScript text comes back as it was
    parent_id TEXT,
    folded_title TEXT NOT NULL,
    updated INTEGER NOT NULL,
    is_hidden INTEGER NOT NULL DEFAULT 0, -- only begun; its time of update is the beginning
    data TEXT NOT NULL
  ) STRICT;
  -- A search for a title reads this index alone: at 100,000 sessions a tenth of the time, in which nothing else runs.
  CREATE INDEX session_by_time ON session (updated DESC, id, is_hidden, folded_title);
  CREATE INDEX session_by_parent ON session (parent_id) WHERE parent_id IS NOT NULL;
  CREATE INDEX session_hidden ON session (updated) WHERE is_hidden = 1;
  -- Finds the few sessions that wait for results of client tools.
  CREATE INDEX session_awaiting ON session (id) WHERE instr(data, '${AWAITING}') > 0;
  CREATE TABLE message (
    id TEXT PRIMARY KEY,
    session_id TEXT NOT NULL REFERENCES session (id) ON DELETE CASCADE,
    is_unfinished INTEGER NOT NULL,
    data TEXT NOT NULL
  ) STRICT;
  CREATE INDEX message_by_session ON message (session_id, id);
  CREATE INDEX message_unfinished ON message (id) WHERE is_unfinished = 1;
  CREATE TABLE part (
    id TEXT PRIMARY KEY,
    message_id TEXT NOT NULL REFERENCES message (id) ON DELETE CASCADE,
    data TEXT NOT NULL
  ) STRICT;
  CREATE INDEX part_by_message ON part (message_id, id);
  CREATE TABLE output (
    part_id TEXT PRIMARY KEY REFERENCES part (id) ON DELETE CASCADE,
    session_id TEXT NOT NULL,
    data TEXT NOT NULL
  ) STRICT;
  CREATE TABLE owed (
    message_id TEXT PRIMARY KEY REFERENCES message (id) ON DELETE CASCADE,
    session_id TEXT NOT NULL,
    is_begun INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX owed_by_session ON owed (session_id);
  CREATE TABLE event (
    id TEXT PRIMARY KEY,
    session_id TEXT,
    directory TEXT NOT NULL,
    data TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX event_by_session ON event (session_id) WHERE session_id IS NOT NULL;
  CREATE TABLE event_mark (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    newest TEXT NOT NULL, -- ids go on after it even when no event is left
    forgotten TEXT NOT NULL -- the newest that went for its age, and not with its session
  ) STRICT;
  INSERT INTO event_mark VALUES (1, '', '');
  -- Decisions about permission requests; they outlive their sessions.
  CREATE TABLE decision (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    is_asked INTEGER NOT NULL, -- 0: the call ran under a standing rule
    place INTEGER NOT NULL, -- among those of its kind
    data TEXT NOT NULL
  ) STRICT;
  CREATE INDEX decision_by_kind ON decision (is_asked, place);
`;

/** The migration from version n to n + 1, at index n. Released ones are never changed. */
export const SQLITE_MIGRATIONS: readonly string[] = [`${FIRST}${TURN_TABLES}`];

const readNumber = (database: DatabaseSync, sql: string): number =>
  Number(Object.values(database.prepare(sql).get() ?? {})[0]);

/** Throws a `ConfigError` for a database of another program, before anything is written to it. */
export const refuseForeign = (database: DatabaseSync): void => {
  const application = readNumber(database, 'PRAGMA application_id');
  const isEmpty = readNumber(database, 'SELECT count(*) FROM sqlite_schema') === 0;
  if (application !== APPLICATION_ID && !(application === 0 && isEmpty))
    throw databaseConfigError('expected a database of the agent server, and this one belongs to something else');
};

/** Runs the next migration, if there is one. Other processes see it completely or not at all. */
const migrateOnce = (database: DatabaseSync, migrations: readonly string[]): boolean =>
  inTransaction(database, 'IMMEDIATE', () => {
    const version = readNumber(database, 'PRAGMA user_version');
    if (version > migrations.length) {
      const versions = `it has version ${version}, and this program knows ${migrations.length}`;
      throw databaseConfigError(`expected a database that no newer release has written; ${versions}`);
    }
    const step = migrations[version];
    if (step !== undefined) database.exec(step);
    // Written even when nothing changes, so that a read-only file fails now.
    database.exec(`PRAGMA user_version = ${step === undefined ? version : version + 1}`);
    return step !== undefined;
  });

/** Migrates a database to the newest version, one transaction a step. Throws a `ConfigError` for a newer one. */
export const migrateSqlite = (database: DatabaseSync, migrations: readonly string[] = SQLITE_MIGRATIONS): void => {
  while (migrateOnce(database, migrations));
};

/** Called with what was missing when a store was made anew, for operators: the path, and its directory where that was made too. */
export type OnStoreMade = (missing: string) => void;

/**
 * Creates the file with access for its owner only: SQLite itself would let everyone read it. An existing file is not even
 * opened, because closing it would release every lock that this process holds on it.
 */
export const makeFile = (path: string, onMade: OnStoreMade = () => {}): void => {
  const isDirectoryNew = makeDirectoryOf(path);
  try {
    closeSync(openSync(path, 'wx', 0o600));
  } catch (error) {
    if (isThere(error)) return;
    throw error;
  }
  onMade(isDirectoryNew ? `there was no file ${path}, and no such directory` : `there was no file ${path}`);
};

const prepareDatabase = (database: DatabaseSync): void => {
  database.exec(`PRAGMA busy_timeout = ${BUSY_MS}`);
  refuseForeign(database);
  const mode = database.prepare('PRAGMA journal_mode = WAL').get()?.journal_mode;
  if (mode !== 'wal')
    throw databaseConfigError('expected a file on a local file system (no write-ahead log is possible)');
  // FULL: what is committed survives a power cut.
  database.exec('PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON');
  migrateSqlite(database);
};

/**
 * Opens a file as a database of the newest version. Creates it if it is missing, and the last directory of its path. Throws a `ConfigError`
 * when it cannot be used. SQLite is imported only here: older versions of Node have none, and must get their own error first.
 */
export const openDatabase = async (file: string, onMade?: OnStoreMade): Promise<DatabaseSync> => {
  const { DatabaseSync } = await import('node:sqlite');
  const path = resolve(file);
  let database: DatabaseSync | undefined;
  try {
    makeFile(path, onMade);
    database = new DatabaseSync(path);
    prepareDatabase(database);
    return database;
  } catch (error) {
    database?.close();
    throw explainSqliteError(error);
  }
};
