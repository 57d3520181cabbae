import { setTimeout as sleep } from 'node:timers/promises';
import * as assert from 'uvu/assert';
import { openPostgres, type PostgresConnection } from '../../../../src/agent/adapter/postgres/connection.ts';
import { StoreUnavailableError } from '../../../../src/agent/store/errors.ts';
import { atEnd, describe, rejection } from '../../../check.ts';
import { dropSchema, startPostgres } from './world.ts';

const database = await startPostgres();

const withPool = async (connections: number, body: (opened: PostgresConnection) => Promise<void>): Promise<void> => {
  const schema = database.freshSchema();
  const opened = await openPostgres({ url: database.url, schema, connections });
  try {
    await body(opened);
  } finally {
    await opened.close();
    await dropSchema(database, schema);
  }
};
/** The process of PostgreSQL that answers next, after `seconds`. */
const backend = async ({ query }: PostgresConnection, seconds = 0, limitMs?: number): Promise<number> => {
  const [row] = await query((sql) => sql`SELECT pg_backend_pid() AS pid, pg_sleep(${seconds})`, limitMs);
  return Number(row?.pid);
};

describe('the connections of a server to PostgreSQL', (check) => {
  check('are one, as long as a query begins when the one before has ended', () =>
    withPool(4, async (opened) => {
      const first = await backend(opened);
      await Promise.all([1, 2, 3].map(() => backend(opened, 0.01)));
      for (let times = 0; times < 10; times++) assert.is(await backend(opened), first);
    }),
  );

  check('are as many as queries run, and no more than there may be', () =>
    withPool(3, async (opened) => {
      const used = await Promise.all([1, 2, 3, 4, 5].map(() => backend(opened, 0.02)));
      assert.is(new Set(used).size, 3);
    }),
  );

  check('are shared with what may take the shortest time', () =>
    withPool(2, async (opened) => {
      const long = backend(opened, 0.3, 600_000);
      const [short, ...others] = await Promise.all([1, 2, 3].map(() => backend(opened, 0.01)));
      assert.equal(others, [short, short]);
      assert.is.not(await long, short);
    }),
  );

  check('are all made anew when one of them gives no answer in time', () =>
    withPool(2, async (opened) => {
      const before = await Promise.all([backend(opened, 0.01), backend(opened, 0.01)]);
      const other = rejection(backend(opened, 5));
      assert.instance(await rejection(backend(opened, 5, 50)), StoreUnavailableError);
      assert.instance(await other, StoreUnavailableError);
      const after = await Promise.all([backend(opened, 0.01), backend(opened, 0.01)]);
      assert.is(new Set([...before, ...after]).size, 4);
    }),
  );

  check('are not used again once they have failed', () =>
    withPool(2, async (opened) => {
      for (let times = 0; times < 30; times++) {
        const before = await backend(opened);
        const cut = opened.query((sql) => sql`SELECT pg_terminate_backend(pg_backend_pid())`);
        assert.instance(await rejection(cut), StoreUnavailableError);
        assert.is.not(await backend(opened, 0, 2000), before);
      }
    }),
  );

  check('give a query no rows of one that was cut off before it', () =>
    withPool(1, async ({ query }) => {
      for (let times = 0; times < 20; times++) {
        const cut = query((sql) => sql`SELECT pg_sleep(0.01), pg_terminate_backend(pg_backend_pid())`).catch(() => {});
        const found = await Promise.all(
          [1, 2, 3, 4, 5, 6].map((value) =>
            query((sql) => sql`SELECT ${value}::text AS value, pg_sleep(0)`).then(
              (rows) => [...rows].map((row) => row?.value),
              (error: unknown) => error,
            ),
          ),
        );
        await cut;
        for (const [index, rows] of found.entries())
          if (!(rows instanceof StoreUnavailableError)) assert.equal(rows, [String(index + 1)]);
      }
    }),
  );

  check('are gone soon after they were cut off, though other queries waited for them', () =>
    withPool(1, async ({ query }) => {
      const others = async () => {
        const [row] = await query(
          (sql) => sql`
            SELECT count(*)::int AS count FROM pg_stat_activity
            WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'`,
        );
        return row?.count;
      };
      const limit = performance.now() + 10_000;
      while ((await others()) > 0 && performance.now() < limit) await sleep(100);
      assert.is(await others(), 0);
    }),
  );

  check('say that there are none when a query comes after their end, also when all of them had been given up', () =>
    withPool(2, async (opened) => {
      await rejection(backend(opened, 5, 20));
      await opened.close();
      assert.instance(await rejection(backend(opened)), StoreUnavailableError);
    }),
  );

  check('compile no queries', () =>
    withPool(1, async ({ query }) => {
      assert.equal([...(await query((sql) => sql`SHOW jit`))], [{ jit: 'off' }]);
    }),
  );
});

atEnd(database.stop);
