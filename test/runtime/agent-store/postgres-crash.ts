import { setTimeout as sleep } from 'node:timers/promises';
import postgres, { type Sql } from 'postgres';
import * as assert from 'uvu/assert';
import { startPostgres, type TestPostgres } from '../../agent/adapter/postgres/world.ts';
import type { Check } from '../../check.ts';
import { killAll, type LanePlace } from '../agent/kills.ts';
import { inAgentWorld, until } from '../agent/world.ts';

/** Most of the time of a kill is waiting for the end of the dead server's lease, which costs no processor. */
const LANES = 12;
const LEASE_SECONDS = 2;
const LOOK_EVERY_MS = 60;

/** Where a dead server has nothing any more, and a living one has nothing left to end. */
const isTakenOver = async (sql: Sql): Promise<boolean> => {
  // All lanes ask, and the servers need the processor more.
  await sleep(LOOK_EVERY_MS);
  const [row] = await sql`
    SELECT (SELECT count(*) FROM server) = 1 AND NOT EXISTS (SELECT 1 FROM ticket) AND NOT EXISTS (SELECT 1 FROM ask)
      AND NOT EXISTS (SELECT 1 FROM message WHERE is_unfinished) AND NOT EXISTS (SELECT 1 FROM owed) AS is_so`;
  return row?.is_so === true;
};
/** Nothing belongs to what is not there, and no event is after the newest. */
const strays = (sql: Sql) => sql`
  SELECT 'event' AS what, id FROM event WHERE id >= event_id((SELECT last_value FROM event_group) + 1, 0)
  UNION ALL SELECT 'output', part_id FROM output WHERE NOT EXISTS (SELECT 1 FROM session WHERE id = output.session_id)
  UNION ALL SELECT 'ticket', seq::text FROM ticket WHERE NOT EXISTS (SELECT 1 FROM server WHERE id = ticket.server_id)`;

const placeOf = async (database: TestPostgres, opened: Sql[]): Promise<LanePlace> => {
  const url = await database.freshDatabase();
  const sql = postgres(url, { max: 1, connection: { search_path: 'gatehouse' }, onnotice() {} });
  opened.push(sql);
  return {
    variables: { AGENT_DATABASE_URL: url, AGENT_LEASE_SECONDS: String(LEASE_SECONDS) },
    async assertSound(when) {
      assert.equal([...(await strays(sql))], [], when);
    },
    untilTakenOver: () => until('the dead server is buried, and what it had is ended', () => isTakenOver(sql)),
  };
};

/** Kills agent bundles over one PostgreSQL so many times, at any moment. */
export const checkPostgresKills = (check: Check, kills: number): void =>
  check(
    `${kills} times at any moment loses nothing that was acknowledged, and leaves nothing undone behind`,
    inAgentWorld(async (world) => {
      const database = await startPostgres({ isOwn: true, connections: 400 });
      const opened: Sql[] = [];
      try {
        await killAll(world, {
          kills,
          lanes: Math.min(Math.ceil(kills / 4), LANES),
          placeOf: () => placeOf(database, opened),
        });
      } finally {
        await Promise.all(opened.map((sql) => sql.end()));
        await database.stop();
      }
    }),
  );
