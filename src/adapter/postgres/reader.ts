import type { SessionReader } from '../../agent/session/list.ts';
import { textIn } from '../stored-rows.ts';
import { openPostgres, type PostgresPlace, type Sql } from './connection.ts';
import { databaseProblem } from './errors.ts';
import { createPostgresReads } from './reads.ts';
import { MIGRATIONS } from './schema.ts';

const UNUSED = 'expected a database that a server of this release has used';

const refuseOther = async (sql: Sql, schema: string): Promise<void> => {
  const [held] = await sql`SELECT to_regclass(${`${schema}.migration`}) IS NOT NULL AS is_there`;
  if (held?.is_there !== true) throw databaseProblem(UNUSED);
  const [row] = await sql`SELECT max(version)::int AS version FROM migration`;
  if (row?.version !== MIGRATIONS.length) throw databaseProblem(UNUSED);
};

/**
 * Reads a store beside the servers that share it: takes no place among them, and makes or changes nothing. Whatever is wrong
 * with the database is a `ConfigError`.
 */
export const openPostgresReader = async (place: PostgresPlace): Promise<SessionReader> => {
  const link = await openPostgres({ ...place, connections: 2 }, refuseOther);
  const { session, sessions, sessionOutlines, outline, message, output, unfinished } = createPostgresReads(
    link,
    (part) => part,
  );
  return {
    session,
    sessions,
    sessionOutlines,
    outline: (sessionID, asked = {}) => outline(sessionID, asked),
    message,
    output,
    unfinished,
    async busy(sessionIDs) {
      const rows = await link.ask((sql) => sql`SELECT DISTINCT session_id FROM ticket`);
      const held = new Set(rows.map((row) => textIn(row, 'session_id')));
      return sessionIDs.filter((id) => held.has(id));
    },
    close: link.close,
  };
};
