import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import postgres, { type Sql } from 'postgres';
import * as assert from 'uvu/assert';
import {
  migratePostgres,
  openPostgres,
  type PostgresOptions,
} from '../../../../src/agent/adapter/postgres/connection.ts';
import { POSTGRES_MIGRATIONS } from '../../../../src/agent/adapter/postgres/schema/migrations.ts';
import { openPostgresStore } from '../../../../src/agent/adapter/postgres/store.ts';

import { ConfigError } from '../../../../src/core/config.ts';
import { atEnd, describe, rejection } from '../../../check.ts';
import { freePort } from '../../../runtime/processes.ts';
import { reported, sessionOf } from '../../store/samples.ts';
import { dropSchema, startPostgres } from './world.ts';

const database = await startPostgres();

const asRoot = async <T>(body: (sql: Sql) => Promise<T>, url = database.url): Promise<T> => {
  const sql = postgres(url, { max: 1, onnotice() {} });
  try {
    return await body(sql);
  } finally {
    await sql.end();
  }
};
const openAt = async (url: string, schema: string) => {
  const connection = await openPostgres({ url, schema, connections: 2 });
  return openPostgresStore({
    connection: connection,
    newServerID: () => crypto.randomUUID(),
    aliveMs: 7000,
  });
};
/** The one line of what is wrong, of which no word is of the address. */
const problemAt = async (
  url: string,
  schema = database.freshSchema(),
  limits: Pick<PostgresOptions, 'startLimitMs'> = {},
): Promise<string> => {
  const error = await rejection(openPostgres({ url, schema, ...limits }));
  assert.ok(error instanceof ConfigError, String(error));
  assert.is(error.problems.length, 1);
  for (const secret of [url, 'canary', 'only-for-tests', '127.0.0.1'])
    assert.not.ok(JSON.stringify([error.message, error.stack, error.problems]).includes(secret), secret);
  return error.problems[0] ?? '';
};
const EXPECTED = /^AGENT_DATABASE_URL: expected /;

describe('servers that come to a PostgreSQL', (check) => {
  for (const count of [2, 5]) {
    check(`make an empty database ready once, though ${count} of them come at the same time`, async () => {
      const schema = database.freshSchema();
      const all = await Promise.all(Array.from({ length: count }, () => openAt(database.url, schema)));
      await Promise.all(
        all.map(({ store }, place) =>
          store.commit([{ kind: 'session', session: sessionOf(`ses_${place}`) }], [reported(`by ${place}`)]),
        ),
      );
      for (const { store } of all) assert.is((await store.sessions({})).length, count);
      const versions = await asRoot((sql) => sql`SELECT version FROM ${sql(schema)}.migration ORDER BY version`);
      assert.equal(
        versions.map(({ version }) => version),
        POSTGRES_MIGRATIONS.map((_, index) => index + 1),
      );
      await Promise.all(all.map(({ store }) => store.close()));
      await dropSchema(database, schema);
    });
  }

  check('do so as well where transactions are serializable unless they say otherwise', async () => {
    const url = await database.freshDatabase();
    const name = new URL(url).pathname.slice(1);
    await asRoot((sql) => sql`ALTER DATABASE ${sql(name)} SET default_transaction_isolation = 'serializable'`);
    const all = await Promise.all([1, 2, 3].map(() => openAt(url, 'gatehouse')));
    const commits = all.flatMap(({ store }, place) =>
      Array.from({ length: 20 }, (_, index) => store.commit([], [reported(`${place}.${index}`)])),
    );
    await Promise.all(commits);
    assert.is((await all[0]!.store.events({ afterID: '', limit: 100 })).length, 60);
    await Promise.all(all.map(({ store }) => store.close()));
  });

  check(
    'bring an older version up to date, with all that is in it, while others come with the same release',
    async () => {
      const schema = database.freshSchema();
      const steps = [
        ...POSTGRES_MIGRATIONS,
        'CREATE TABLE extra (id integer PRIMARY KEY)',
        'INSERT INTO extra VALUES (1)',
      ];
      const { store: older } = await openAt(database.url, schema);
      await older.commit([{ kind: 'session', session: sessionOf('ses_1') }], []);
      await older.close();
      const newer = (sql: Sql, at: string) => migratePostgres(sql, at, steps);
      const links = await Promise.all(
        [1, 2, 3].map(() => openPostgres({ url: database.url, schema, connections: 1 }, newer)),
      );
      assert.equal([...(await asRoot((sql) => sql`SELECT id FROM ${sql(schema)}.extra`))], [{ id: 1 }]);
      assert.equal([...(await asRoot((sql) => sql`SELECT id FROM ${sql(schema)}.session`))], [{ id: 'ses_1' }]);
      await Promise.all(links.map(({ close }) => close()));
      await dropSchema(database, schema);
    },
  );

  check('keep nothing of a step of which the half failed', async () => {
    const schema = database.freshSchema();
    const broken = (sql: Sql, at: string) =>
      migratePostgres(sql, at, [...POSTGRES_MIGRATIONS, 'CREATE TABLE half (id integer); SELECT 1 / 0']);
    await rejection(openPostgres({ url: database.url, schema }, broken));
    const [found] = await asRoot(
      (sql) => sql`SELECT count(*)::int AS count FROM pg_namespace WHERE nspname = ${schema}`,
    );
    assert.is(found?.count, 0);
    await (await openAt(database.url, schema)).store.close();
    await dropSchema(database, schema);
  });

  check('are refused by one that a newer release has written, and change nothing in it', async () => {
    const schema = database.freshSchema();
    await (await openAt(database.url, schema)).store.close();
    const newer = POSTGRES_MIGRATIONS.length + 1;
    await asRoot((sql) => sql`INSERT INTO ${sql(schema)}.migration (version) VALUES (${newer})`);
    const problem = await problemAt(database.url, schema);
    assert.match(problem, EXPECTED);
    assert.match(problem, `version ${newer}, and this program knows ${POSTGRES_MIGRATIONS.length}`);
    const [row] = await asRoot((sql) => sql`SELECT count(*)::int AS count FROM ${sql(schema)}.migration`);
    assert.is(row?.count, newer);
    await dropSchema(database, schema);
  });

  for (const [what, table] of [
    ['tables', 'session (name text)'],
    ['versions', 'migration (name text)'],
    ['functions', undefined],
  ] as const) {
    check(`are refused by another program's schema of the same name: ${what}`, async () => {
      const schema = database.freshSchema();
      await asRoot(async (sql) => {
        await sql`CREATE SCHEMA ${sql(schema)}`;
        if (table === undefined)
          await sql.unsafe(`CREATE FUNCTION ${schema}.settled_group() RETURNS bigint LANGUAGE sql AS 'SELECT 1'`);
        else await sql.unsafe(`CREATE TABLE ${schema}.${table}`);
      });
      assert.match(await problemAt(database.url, schema), /no other program/);
      const found = await asRoot(
        (sql) => sql`SELECT 1 FROM pg_tables WHERE schemaname = ${schema} AND tablename = 'message'`,
      );
      assert.is(found.length, 0);
      await dropSchema(database, schema);
    });
  }

  const changed = (parts: Partial<Pick<URL, 'username' | 'password' | 'pathname' | 'search'>>): string =>
    Object.assign(new URL(database.url), parts).href;
  const wrong: readonly (readonly [string, () => string | Promise<string>])[] = [
    ['a wrong password', () => changed({ password: 'canary-password' })],
    ['a user that is not there', () => changed({ username: 'canary_user' })],
    ['a database that is not there', () => changed({ pathname: '/canary_database' })],
    ['an address at which nobody listens', async () => `postgres://canary:canary@127.0.0.1:${await freePort()}/canary`],
    ['a host that is not there', () => 'postgres://canary:canary@canary.invalid/canary'],
    ['an address that is none', () => 'postgres://canary:can%ZZary@127.0.0.1:5432/canary'],
    ['a setting that PostgreSQL does not know', () => changed({ search: '?canary=canary' })],
  ];
  for (const [what, urlOf] of wrong) {
    check(`get an error with the name of the variable and without its value: ${what}`, async () => {
      assert.match(await problemAt(await urlOf()), EXPECTED);
    });
  }

  for (const query of ['', '?sslmode=prefer']) {
    check(
      `get an error within the time limit from a server that is no PostgreSQL: ${query || 'no query'}`,
      async () => {
        const http = createServer((_, response) => response.end());
        await new Promise<void>((resolve) => void http.listen(0, '127.0.0.1', resolve));
        const { port } = http.address() as AddressInfo;
        const url = `postgres://canary:canary@127.0.0.1:${port}/canary${query}`;
        assert.match(await problemAt(url, 'gatehouse', { startLimitMs: 300 }), "does not speak PostgreSQL's protocol");
        http.close();
      },
    );
  }

  check('get an error within the time limit from several hosts of which none takes writes', async () => {
    const url = await database.freshDatabase();
    const { host, pathname } = new URL(url);
    await asRoot((sql) => sql`ALTER DATABASE ${sql(pathname.slice(1))} SET default_transaction_read_only = on`);
    const both = url.replace(host, `${host},${host}`);
    assert.match(await problemAt(both, 'gatehouse', { startLimitMs: 1000 }), 'answers in time and takes writes');
  });

  check('get an error within the time limit from several hosts at which nobody listens', async () => {
    const host = `127.0.0.1:${await freePort()}`;
    const url = `postgres://canary:canary@${host},${host}/canary`;
    assert.match(await problemAt(url, 'gatehouse', { startLimitMs: 300 }), 'none of its hosts answered');
  });

  check('are not held to that time limit while they migrate', async () => {
    const slow = async (sql: Sql): Promise<void> => void (await sql`SELECT pg_sleep(1.5)`);
    await (await openPostgres({ url: database.url, schema: 'unused', startLimitMs: 1000 }, slow)).close();
  });

  check('get an error that names TLS when the address requires it and the database has none', async () => {
    assert.match(await problemAt(changed({ search: '?sslmode=require' })), 'TLS, as sslmode asks');
  });

  check('get an error for a user who may not create a schema', async () => {
    await asRoot((sql) => sql`CREATE ROLE canary_guest LOGIN PASSWORD 'canary-guest'`);
    const url = changed({ username: 'canary_guest', password: 'canary-guest' });
    assert.match(await problemAt(url), 'expected a user who may make a schema');
    // Made for that user, it is enough.
    const schema = database.freshSchema();
    await asRoot((sql) => sql`CREATE SCHEMA ${sql(schema)} AUTHORIZATION canary_guest`);
    const { store } = await openAt(url, schema);
    await store.commit([], [reported('by a guest')]);
    await store.close();
    await dropSchema(database, schema);
  });

  check('get an error when the database accepts no more connections', async () => {
    const name = new URL(await database.freshDatabase()).pathname.slice(1);
    await asRoot((sql) => sql`ALTER DATABASE ${sql(name)} CONNECTION LIMIT 0`);
    await asRoot((sql) => sql`CREATE ROLE canary_late LOGIN PASSWORD 'canary-late'`);
    const url = changed({ pathname: `/${name}`, username: 'canary_late', password: 'canary-late' });
    assert.match(await problemAt(url), 'can be reached (53300)');
  });
});

atEnd(database.stop);
