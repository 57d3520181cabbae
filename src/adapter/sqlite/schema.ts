import type { DatabaseSync } from 'node:sqlite';
import { databaseProblem, inTransaction } from './errors.ts';

/** Stands in the header of the file and says whose database it is: `Gate`. */
const APPLICATION = 0x47617465;

const FIRST = `
  PRAGMA application_id = ${APPLICATION};
  CREATE TABLE session (
    id TEXT PRIMARY KEY,
    directory TEXT NOT NULL, -- as JSON, like the data, so that every JavaScript text comes back as it was
    parent_id TEXT,
    folded_title TEXT NOT NULL,
    updated INTEGER NOT NULL,
    data TEXT NOT NULL
  ) STRICT;
  CREATE INDEX session_by_time ON session (updated DESC, id);
  CREATE INDEX session_by_parent ON session (parent_id) WHERE parent_id IS NOT NULL;
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
  CREATE TABLE event (
    id TEXT PRIMARY KEY,
    directory TEXT NOT NULL,
    data TEXT NOT NULL
  ) STRICT;
  CREATE TABLE pruned (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    event_id TEXT NOT NULL -- ids go on after it even when no event is left
  ) STRICT;
`;

/** Events of the first version are forgotten, which clients are told: some of them hold whole files, and some of them outlived their sessions. */
const SECOND = `
  ALTER TABLE session ADD COLUMN is_hidden INTEGER NOT NULL DEFAULT 0; -- only begun; its time of update is the beginning
  CREATE INDEX session_hidden ON session (updated) WHERE is_hidden = 1;
  CREATE TABLE event_mark (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    newest TEXT NOT NULL, -- ids go on after it even when no event is left
    forgotten TEXT NOT NULL -- the newest that went for its age, and not with its session
  ) STRICT;
  INSERT INTO event_mark SELECT 1, id, id FROM (
    SELECT max(coalesce((SELECT max(id) FROM event), ''), coalesce((SELECT event_id FROM pruned), '')) AS id
  );
  DROP TABLE pruned;
  DROP TABLE event;
  CREATE TABLE event (
    id TEXT PRIMARY KEY,
    session_id TEXT,
    directory TEXT NOT NULL,
    data TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX event_by_session ON event (session_id) WHERE session_id IS NOT NULL;
`;

/** What brings a database from version n to n + 1, at place n. Released ones are never changed. */
export const MIGRATIONS: readonly string[] = [FIRST, SECOND];

const numberIn = (database: DatabaseSync, sql: string): number =>
  Number(Object.values(database.prepare(sql).get() ?? {})[0]);

/** Refuses a database that some other program made, before anything is written to it. */
export const refuseForeign = (database: DatabaseSync): void => {
  const application = numberIn(database, 'PRAGMA application_id');
  const isEmpty = numberIn(database, 'SELECT count(*) FROM sqlite_schema') === 0;
  if (application !== APPLICATION && !(application === 0 && isEmpty))
    throw databaseProblem('expected a database of the agent server, and this one belongs to something else');
};

/** Takes one step towards the newest version, if there is one to take. Whoever shares the file sees it whole or not at all. */
const migrateOnce = (database: DatabaseSync, migrations: readonly string[]): boolean =>
  inTransaction(database, 'IMMEDIATE', () => {
    const version = numberIn(database, 'PRAGMA user_version');
    if (version > migrations.length) {
      const versions = `it has version ${version}, and this program knows ${migrations.length}`;
      throw databaseProblem(`expected a database that no newer release has written; ${versions}`);
    }
    const step = migrations[version];
    if (step !== undefined) database.exec(step);
    // Written even when nothing changes: a file that cannot be written to is to be noticed now.
    database.exec(`PRAGMA user_version = ${step === undefined ? version : version + 1}`);
    return step !== undefined;
  });

/** Brings a database to the newest version, each step in a transaction of its own. A newer one is refused. */
export const migrate = (database: DatabaseSync, migrations: readonly string[] = MIGRATIONS): void => {
  while (migrateOnce(database, migrations));
};
