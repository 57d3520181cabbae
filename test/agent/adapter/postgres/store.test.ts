import postgres from 'postgres';
import { openPostgres } from '../../../../src/agent/adapter/postgres/connection.ts';
import { openPostgresStore } from '../../../../src/agent/adapter/postgres/store.ts';
import { atEnd, describe, thorough } from '../../../check.ts';
import { checkStore } from '../../store/contract.ts';
import { startPostgres } from './world.ts';

const ALIVE_MS = 7000;
const database = await startPostgres();

const openAt = async (schema: string) => {
  const connection = await openPostgres({ url: database.url, schema, connections: 4 });
  const newServerID = () => crypto.randomUUID();
  return (await openPostgresStore({ connection, newServerID, aliveMs: ALIVE_MS })).store;
};

/** Schemas that are as new. To make one takes longer than most checks. */
const free: string[] = [];
const emptied = async (schema: string): Promise<void> => {
  const sql = postgres(database.url, { max: 1, connection: { search_path: schema }, onnotice: () => {} });
  await sql`
    DO $$ BEGIN EXECUTE (
      SELECT 'TRUNCATE ' || string_agg(quote_ident(tablename), ', ') || ' RESTART IDENTITY'
      FROM pg_tables WHERE schemaname = current_schema() AND tablename <> 'migration'
    ); END $$`;
  await sql`INSERT INTO event_mark DEFAULT VALUES`;
  await sql`ALTER SEQUENCE event_group RESTART`;
  await sql.end();
  free.push(schema);
};

describe('a store in PostgreSQL', (check) => {
  checkStore(check, {
    isLasting: true,
    randomRuns: thorough(6, 60),
    async createPlace() {
      const schema = free.pop() ?? database.freshSchema();
      return { open: () => openAt(schema), clear: () => emptied(schema) };
    },
  });
});

atEnd(database.stop);
