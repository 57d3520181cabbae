import type { SessionReader } from '../../session/list.ts';
import { columnText, databaseConfigError } from '../sql-store.ts';
import { openPostgres, type PostgresOptions, type Sql } from './connection.ts';
import { createPostgresReads } from './queries/reads.ts';
import { POSTGRES_MIGRATIONS } from './schema/migrations.ts';

const NOT_THIS_RELEASE = 'expected a database that a server of this release has used';

const refuseOtherVersion = async (sql: Sql, schema: string): Promise<void> => {
  const [held] = await sql`SELECT to_regclass(${`${schema}.migration`}) IS NOT NULL AS is_there`;
  if (held?.is_there !== true) throw databaseConfigError(NOT_THIS_RELEASE);
  const [row] = await sql`SELECT max(version)::int AS version FROM migration`;
  if (row?.version !== POSTGRES_MIGRATIONS.length) throw databaseConfigError(NOT_THIS_RELEASE);
};

/**
 * Opens a store for reading, beside the servers that share it. Does not join their cluster, and changes nothing. Throws a
 * `ConfigError` when the database cannot be used.
 */
export const openPostgresReader = async (place: PostgresOptions): Promise<SessionReader> => {
  const connection = await openPostgres({ ...place, connections: 2 }, refuseOtherVersion);
  const { session, sessions, sessionOutlines, outline, message, output, unfinished, owed } = createPostgresReads(
    connection,
    (part) => part,
  );
  return {
    session,
    sessions,
    sessionOutlines,
    messageOutlines: (sessionID, selection = {}) => outline(sessionID, selection),
    message,
    output,
    unfinished,
    owed,
    async busy(sessionIDs) {
      const rows = await connection.query((sql) => sql`SELECT DISTINCT session_id FROM ticket`);
      const held = new Set(rows.map((row) => columnText(row, 'session_id')));
      return sessionIDs.filter((id) => held.has(id));
    },
    close: connection.close,
  };
};
