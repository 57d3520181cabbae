import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import postgres from 'postgres';
import * as assert from 'uvu/assert';
import { systemClock } from '../../../../src/adapter/node/clock.ts';
import { randomBytes } from '../../../../src/adapter/web-crypto.ts';
import { openPostgres } from '../../../../src/agent/adapter/postgres/connection.ts';
import { createIds } from '../../../../src/agent/protocol/ids.ts';
import { ConfigError } from '../../../../src/core/config.ts';
import { openAgentStore } from '../../../../src/main/agent/store.ts';
import { atEnd, describe, rejection } from '../../../check.ts';
import { startPostgres } from './world.ts';

const database = await startPostgres();

/** A server at 127.0.0.1 that gets each client with its first message, without the length in front. */
const withServer = async (
  onStart: (client: Socket, message: Buffer) => void,
  body: (url: string) => Promise<void>,
): Promise<void> => {
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    sockets.add(client.on('error', () => {}));
    client.once('data', (bytes) => onStart(client, bytes.subarray(4)));
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const url = new URL(database.url);
  url.port = String(port);
  try {
    await body(url.href);
  } finally {
    for (const socket of sockets) socket.destroy();
    server.close();
  }
};
const withLength = (message: Buffer): Buffer => {
  const length = Buffer.alloc(4);
  length.writeInt32BE(message.length + 4);
  return Buffer.concat([length, message]);
};

/** The settings of a client's first message, by name. */
const settingsOf = (message: Buffer): ReadonlyMap<string, string> => {
  const words = message.subarray(4, -2).toString().split('\0');
  return new Map(Array.from({ length: words.length >> 1 }, (_, place) => [words[2 * place]!, words[2 * place + 1]!]));
};

/** PgBouncer with these names in `ignore_startup_parameters`: it keeps the other settings away from its clients' connections, too. */
const dropping = (ignored: RegExp) => (client: Socket, message: Buffer) => {
  const kept = [...settingsOf(message)].filter(([name]) => !ignored.test(name)).flat();
  const behind = connect(database.port, '127.0.0.1').on('error', () => client.destroy());
  behind.write(withLength(Buffer.concat([message.subarray(0, 4), Buffer.from([...kept, '', ''].join('\0'))])));
  client.pipe(behind).pipe(client);
};
/** PgBouncer without any. The texts are those of its releases 1.18 and 1.24. */
const refusing = (words: string) => (client: Socket) => {
  const fields = ['SFATAL', 'C08P01', `M${words}`, '', ''].join('\0');
  client.end(Buffer.concat([Buffer.from('E'), withLength(Buffer.from(fields))]));
};

const SECRET = 'secret words';
const problemOf = async (opening: Promise<unknown>): Promise<string> => {
  const error = await rejection(opening);
  assert.ok(error instanceof ConfigError, String(error));
  assert.not.match(JSON.stringify([error.message, error.stack, error.problems]), SECRET);
  return error.problems.join();
};

describe('the start of an agent server', (check) => {
  for (const words of [
    'unsupported startup parameter: default_transaction_isolation',
    'unsupported startup parameter in options: search_path',
  ])
    check(`is refused in words of its own by a pooler that takes no settings: ${words}`, () =>
      withServer(refusing(words), async (url) => {
        assert.match(await problemOf(openPostgres({ url })), /expected PostgreSQL itself.* as PgBouncer does$/);
      }),
    );

  for (const [what, ignored] of [
    ['all settings', /^(?!user|database|application_name)/],
    ['those that PostgreSQL does not report', /^(enable_seqscan|jit)$/],
  ] as const)
    check(`finds a pooler that drops ${what} without a word`, () =>
      withServer(dropping(ignored), async (url) => {
        assert.match(await problemOf(openPostgres({ url })), 'as PgBouncer does');
      }),
    );

  check('goes on with a server between that drops nothing', () =>
    withServer(dropping(/^$/), async (url) => {
      await (await openPostgres({ url, schema: database.freshSchema() })).close();
    }),
  );

  check('names a time limit of the database that it does not fit in', async () => {
    const slow = openPostgres({ url: `${database.url}?statement_timeout=20` }, async (sql) => {
      await sql`SELECT pg_sleep(5)`;
    });
    assert.match(await problemOf(slow), 'expected a database that answers in time');
  });

  // A data exception, a lock that others hold, out of memory, an internal error, and one that no release knows yet.
  for (const code of ['22000', '40P01', '42601', '53200', '53100', '55P03', '57014', 'XX000', '99ZZZ']) {
    check(`ends with a line of its own, whatever the database refuses: ${code}`, async () => {
      const raise = `DO $$ BEGIN RAISE EXCEPTION '${SECRET}' USING ERRCODE = '${code}'; END $$`;
      const opening = openPostgres({ url: database.url }, (sql) => sql.unsafe(raise).then(() => {}));
      assert.match(await problemOf(opening), /^AGENT_DATABASE_URL: expected /);
    });
  }

  check('does so as well where the database is refused only when the server joins the others', async () => {
    const url = await database.freshDatabase();
    await (await openPostgres({ url })).close();
    const sql = postgres(url, { max: 1, onnotice() {} });
    for (const code of ['42601', '57014', '53100']) {
      await sql.unsafe(`
        CREATE OR REPLACE FUNCTION gatehouse.fail() RETURNS trigger LANGUAGE plpgsql AS
          $$ BEGIN RAISE EXCEPTION '${SECRET}' USING ERRCODE = '${code}'; END $$;
        DROP TRIGGER IF EXISTS fail ON gatehouse.server;
        CREATE TRIGGER fail BEFORE INSERT ON gatehouse.server FOR EACH ROW EXECUTE FUNCTION gatehouse.fail()`);
      const opening = openAgentStore(
        { kind: 'postgres', url },
        { ids: createIds(systemClock, randomBytes), leaseMs: 7000, onError() {} },
      );
      assert.match(await problemOf(opening), /^AGENT_DATABASE_URL: expected /, code);
    }
    await sql.end();
  });
});

atEnd(database.stop);
