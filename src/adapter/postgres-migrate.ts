import type { Sql } from './postgres/connection.ts';
import { databaseProblem } from './postgres/errors.ts';
import { MIGRATIONS } from './postgres/schema.ts';

/** Of all programs only this one locks by it. */
const LOCK = 4_757_465_600_001;

/**
 * Brings the schema of the connection to the newest version, making it where it is not there. Servers that start at the
 * same time take turns, and see a version whole or not at all. A newer version than this program knows is refused.
 */
export const migrate = async (sql: Sql, schema: string, migrations: readonly string[] = MIGRATIONS): Promise<void> => {
  await sql.begin(async (within) => {
    await within`SELECT pg_advisory_xact_lock(${LOCK})`;
    const [held] = await within`SELECT to_regclass(${`${schema}.migration`}) IS NOT NULL AS is_there`;
    if (held?.is_there !== true) {
      // Asked first: making what is there needs a right that a careful operator takes away again.
      const [found] = await within`SELECT 1 FROM pg_namespace WHERE nspname = ${schema}`;
      if (found === undefined) await within`CREATE SCHEMA ${within(schema)}`;
      await within`CREATE TABLE migration (version integer PRIMARY KEY, made_at timestamptz NOT NULL DEFAULT now())`;
    }
    const [row] = await within`SELECT coalesce(max(version), 0)::int AS version FROM migration`;
    const version = Number(row?.version);
    if (version > migrations.length) {
      const versions = `it has version ${version}, and this program knows ${migrations.length}`;
      throw databaseProblem(`expected a database that no newer release has written; ${versions}`);
    }
    for (const [step, text] of migrations.entries()) {
      if (step < version) continue;
      await within.unsafe(text);
      await within`INSERT INTO migration (version) VALUES (${step + 1})`;
    }
  });
};
