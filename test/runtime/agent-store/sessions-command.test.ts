import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { openPostgres } from '../../../src/agent/adapter/postgres/connection.ts';
import { openSqliteStore } from '../../../src/agent/adapter/sqlite/store.ts';
import type { Session } from '../../../src/agent/protocol/types.ts';
import type { ListedSession } from '../../../src/agent/session/list.ts';
import type { Store } from '../../../src/agent/store/store.ts';
import { answer } from '../../../src/demo/model/reply.ts';
import { openStoreForCommand } from '../../../src/main/agent/store.ts';
import { startPostgres } from '../../agent/adapter/postgres/world.ts';
import { idsFrom, sessionOf, textPart, userMessage } from '../../agent/store/samples.ts';
import { atEnd, describe } from '../../check.ts';
import { inAgentWorld, isNoTitle, newSession, prompt, textPrompt, until } from '../agent/world.ts';
import { bundle, run } from '../processes.ts';

const database = await startPostgres();
const DAY_MS = 86_400_000;
const now = Date.now();
const idOf = (letter: string): string => `ses_000000000000${letter.repeat(14)}`;

/** A session that was updated so many days ago. */
const aged = (letter: string, days: number, more: Partial<Session> = {}): Session => {
  const updated = now - days * DAY_MS;
  return sessionOf(idOf(letter), { title: `session ${letter}`, time: { created: updated, updated }, ...more });
};
const FAMILIES = [
  aged('a', 40),
  aged('b', 50, { parentID: idOf('a'), agent: 'helper' }),
  aged('c', 60),
  aged('d', 35, { parentID: idOf('c') }),
  aged('e', 10, { parentID: idOf('d') }),
  aged('f', 5),
];
const fill = async (store: Pick<Store, 'commit'>): Promise<void> => {
  const text = textPart({ id: 'prt_1', messageID: 'msg_1', sessionID: idOf('a') }, 'x'.repeat(5000));
  await store.commit(
    [
      ...FAMILIES.map((session) => ({ kind: 'session', session }) as const),
      { kind: 'message', message: userMessage('msg_1', idOf('a')) },
      { kind: 'part', part: text },
    ],
    [],
  );
};
/** Runs the command to its end beside a store. */
const gatehouse = async (address: string, ...words: readonly string[]) => {
  const { code, stdout, stderr } = await run(process.execPath, [bundle('gatehouse.js'), 'agent', ...words], {
    variables: { AGENT_DATABASE_URL: address },
  });
  return { code, stderr, lines: stdout.split('\n').slice(0, -1) };
};
const listed = async (address: string, ...words: readonly string[]): Promise<readonly ListedSession[]> => {
  const { code, stderr, lines } = await gatehouse(address, 'sessions', '--json', ...words);
  assert.equal([code, stderr], [0, '']);
  return lines.map((line) => JSON.parse(line) as ListedSession);
};
const lettersIn = async (address: string): Promise<string> =>
  (await listed(address)).map(({ id }) => id.at(-1)).join('');

const inDirectory = (body: (address: string, file: string) => Promise<void>) => async (): Promise<void> => {
  const directory = mkdtempSync(join(tmpdir(), 'agent-sessions-'));
  try {
    await body(`sqlite:${join(directory, 'agent.db')}`, join(directory, 'agent.db'));
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
};
/** An address of PostgreSQL with what these sessions are, in a database of its own. */
let databases = 0;
const inDatabase = (body: (address: string) => Promise<void>) => async (): Promise<void> => {
  databases += 1;
  const name = `sessions_${databases}`;
  const link = await openPostgres({ url: database.url, schema: 'unused', connections: 2 });
  await link.query((sql) => sql`CREATE DATABASE ${sql(name)}`);
  await link.close();
  await body(database.url.replace(/[^/]*$/, name));
};
const rowsOf = async (url: string, table: string): Promise<number> => {
  const link = await openPostgres({ url, connections: 2 });
  try {
    return (await link.query((sql) => sql`SELECT 1 FROM ${sql(table)}`)).length;
  } finally {
    await link.close();
  }
};

const STORES = {
  'a file': inDirectory(async (address, file) => {
    const store = await openSqliteStore({ file, ids: idsFrom() });
    await fill(store);
    await store.close();
    await tried(address);
  }),
  PostgreSQL: inDatabase(async (url) => {
    const { store, close } = await openStoreForCommand({ kind: 'postgres', url }, { ids: idsFrom() });
    await fill(store);
    await close();
    await tried(url);
    assert.is(await rowsOf(url, 'server'), 0);
  }),
};

/** What a command calls the store at an address: without what may be secret. */
const placeOf = (address: string): string => address.replace(/^sqlite:/, '').replace(/\/\/.*@/, '//');

/** What lists and prunes, one after the other. */
const tried = async (address: string): Promise<void> => {
  assert.is(await lettersIn(address), 'fedabc');
  const [newest, ...more] = await listed(address, '--limit', '1');
  assert.equal(more, []);
  assert.equal([newest?.title, newest?.messages, newest?.bytes, newest?.agent], ['session f', 0, 0, null]);
  const all = await listed(address);
  const [a, b] = [all.find(({ id }) => id === idOf('a')), all.find(({ id }) => id === idOf('b'))];
  assert.ok(a?.messages === 1 && a.bytes > 5000 && a.bytes < 6000);
  assert.equal([b?.parentID, b?.agent], [idOf('a'), 'helper']);
  const table = await gatehouse(address, 'sessions');
  assert.match(table.lines[0] ?? '', /^SESSION +UPDATED +MESSAGES +BYTES +AGENT +PARENT +TITLE$/);
  assert.is(table.lines.length, 7);

  const from = `from ${placeOf(address)}`;
  const dry = await gatehouse(address, 'prune', '--older-than', '30d', '--dry-run');
  const reportsOfA = `${idOf('a')}  ${a?.updated}  2 sessions`;
  assert.equal(dry, {
    code: 0,
    stderr: '',
    lines: [`would remove  ${reportsOfA}`, `would remove 2 sessions in 1 family ${from}, kept 0 that are in use`],
  });
  assert.is(await lettersIn(address), 'fedabc');
  const wet = await gatehouse(address, 'prune', '--older-than=30d');
  assert.equal(wet, {
    code: 0,
    stderr: '',
    lines: [`removed  ${reportsOfA}`, `removed 2 sessions in 1 family ${from}, kept 0 that are in use`],
  });
  assert.is(await lettersIn(address), 'fedc');
  assert.equal((await gatehouse(address, 'prune', '--older-than=30d')).lines, [
    `removed 0 sessions in 0 families ${from}, kept 0 that are in use`,
  ]);
  assert.equal((await gatehouse(address, 'prune', '--keep', '1')).lines.slice(1), [
    `removed 3 sessions in 1 family ${from}, kept 0 that are in use`,
  ]);
  assert.is(await lettersIn(address), 'f');
};

describe('gatehouse agent sessions, and prune', (check) => {
  for (const [name, body] of Object.entries(STORES)) check(`list, tell and remove whole families in ${name}`, body);

  check(
    'make no database, and say what is wrong',
    inDirectory(async (address, file) => {
      for (const words of [['sessions'], ['prune', '--keep', '1'], ['prune', '--keep', '1', '--dry-run']]) {
        assert.equal(await gatehouse(address, ...words), {
          code: 1,
          stderr: `gatehouse agent: AGENT_DATABASE_URL: no file ${file}: run this where the server runs, or set the variable as it is there\n`,
          lines: [],
        });
      }
      assert.not.ok(existsSync(file));
      const { code, stderr, lines } = await gatehouse(address, 'prune');
      assert.equal([code, lines], [1, []]);
      assert.match(stderr, /^gatehouse agent: expected --older-than with an age .*--help\n$/);
    }),
  );

  check.thorough(
    'make no schema in PostgreSQL, and say what is wrong',
    inDatabase(async (url) => {
      for (const words of [['sessions'], ['export', idOf('a')], ['prune', '--keep', '1']]) {
        const { code, stderr } = await gatehouse(url, ...words);
        const errorText = 'AGENT_DATABASE_URL: expected a database that a server of this release has used';
        assert.equal([code, stderr], [1, `gatehouse agent: ${errorText}\n`]);
      }
      const away = await gatehouse('postgres://nobody:secret@127.0.0.1:1/nowhere', 'sessions');
      assert.equal([away.code, away.lines], [1, []]);
      assert.match(away.stderr, /^gatehouse agent: AGENT_DATABASE_URL: expected a database that can be reached/);
      for (const [query, errorText] of [
        [
          'sslmode=require',
          /expected a database that can be reached with TLS, as sslmode asks; it may have none \(ECONNRESET\)\n$/,
        ],
        [
          'sslrootcert=secret',
          /expected no name in the query of the address but sslmode and settings of PostgreSQL\n$/,
        ],
        ['statement_timeout=secret', /expected settings in the query of the address that PostgreSQL takes\n$/],
      ] as const)
        assert.match((await gatehouse(`${url}?${query}`, 'sessions')).stderr, errorText);
      const wrong = await gatehouse(url.replace('only-for-tests', 'wrong'), 'prune', '--keep', '1');
      assert.match(
        wrong.stderr,
        /expected a user and a password that the database takes, with special characters .* percent-encoded \(@ as %40\)\n$/,
      );
    }),
  );

  check.thorough(
    'look at a file without changing it',
    inDirectory(async (address, file) => {
      const store = await openSqliteStore({ file, ids: idsFrom() });
      await fill(store);
      await store.close();
      const before = readFileSync(file);
      await listed(address);
      await gatehouse(address, 'prune', '--keep', '1', '--dry-run');
      assert.ok(before.equals(readFileSync(file)));
      assert.equal(
        readdirSync(join(file, '..')).filter((name) => !name.startsWith('agent.db')),
        [],
      );
    }),
  );

  check(
    'work beside a server, and leave what it has under way',
    inAgentWorld(async (world) => {
      const address = `sqlite:${world.database}`;
      const beside = await openSqliteStore({ file: world.database, ids: idsFrom() });
      await fill(beside);
      await beside.close();
      const agent = await world.start();
      world.model.addReply(answer([{ kind: 'text', text: 'I begin' }, { kind: 'hang' }]), isNoTitle);
      world.model.alwaysReply('Done.', isNoTitle);
      await agent.ask('POST', `/session/${idOf('c')}/prompt_async`, textPrompt('hello'));
      await until('the model speaks', async () =>
        (await agent.ask('GET', `/session/${idOf('c')}/message`)).text.includes('I begin'),
      );
      const [listener, session] = [await agent.listen(), await newSession(agent)];
      const last = await listener.until('a session', ({ type }) => type === 'session.created');
      const { code, stderr, lines } = await gatehouse(address, 'prune', '--keep', '1');
      assert.equal([code, stderr], [0, '']);
      assert.equal(
        lines.map((line) => line.replace(/ {2}2026.*| {2}\d{4}-.*/, '')),
        [
          `removed  ${idOf('a')}`,
          `removed  ${idOf('f')}`,
          `kept, in use  ${idOf('c')}`,
          `removed 3 sessions in 2 families from ${world.database}, kept 1 that are in use`,
        ],
      );
      assert.is((await agent.ask('GET', `/session/${idOf('f')}`)).status, 404);
      assert.is((await agent.ask('GET', `/session/${session.id}`)).status, 200);
      // Who listened all the while heard nothing of it; who comes back does.
      assert.not.match(listener.text(), 'session.deleted');
      const again = await agent.listen('/global/event', { 'last-event-id': last.id ?? '' });
      await until('who comes back is told', () => again.text().split('"session.deleted"').length > 3);
      again.leave();
      await agent.ask('POST', `/session/${idOf('c')}/abort`);
      assert.is((await prompt(agent, idOf('c'), 'and on it goes')).info.finish, 'stop');
      listener.leave();
    }),
  );

  check.thorough(
    'inform servers on PostgreSQL, which inform their listeners',
    inDatabase(async (url) => {
      await inAgentWorld(async (world) => {
        const agent = await world.start({ variables: { AGENT_DATABASE_URL: url } });
        const { store, close } = await openStoreForCommand({ kind: 'postgres', url }, { ids: idsFrom() });
        await fill(store);
        await close();
        const listener = await agent.listen('/global/event');
        const pruned = await gatehouse(url, 'prune', '--keep=1');
        assert.is(pruned.lines.at(-1), `removed 5 sessions in 2 families from ${placeOf(url)}, kept 0 that are in use`);
        await until('the server tells of it', () => listener.text().split('session.deleted').length > 5);
        listener.leave();
        assert.is((await agent.ask('GET', `/session/${idOf('a')}`)).status, 404);
        assert.is(await rowsOf(url, 'server'), 1);
        assert.equal((await agent.signal('SIGTERM')).code, 0);
      })();
    }),
  );
});

atEnd(database.stop);
