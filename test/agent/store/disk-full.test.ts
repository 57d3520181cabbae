import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import * as assert from 'uvu/assert';
import { openDatabase } from '../../../src/agent/adapter/sqlite/schema.ts';
import { createSqliteStore } from '../../../src/agent/adapter/sqlite/store.ts';
import { createIds } from '../../../src/agent/protocol/ids.ts';
import { createSingleServer } from '../../../src/agent/store/cluster.ts';
import { describe } from '../../check.ts';
import { createFakeClock } from '../../fake-clock.ts';
import { answersIn, ask, callsOf, isQuiet, messagesOf, outputOf, textOf } from '../harness/permission-requests.ts';
import {
  type AgentWorld,
  calling,
  createAgentWorld,
  outcome,
  prompt,
  replying,
  toolNamed,
  type WorldGiven,
} from '../harness/world.ts';

const MANY_PAGES = 1_000_000;
const PATIENCE_MS = 5000;

type Disk = {
  /** Nothing that needs a further page can be stored. */
  readonly fill: () => void;
  /** Nothing at all can be stored. */
  readonly refuse: () => void;
  readonly free: () => void;
  readonly database: DatabaseSync;
};

const until = async (what: string, isSo: () => boolean | Promise<boolean>): Promise<void> => {
  const limit = performance.now() + PATIENCE_MS;
  while (!(await isSo())) {
    if (performance.now() > limit) throw new Error(`waited too long until ${what}`);
    await sleep(5);
  }
};

/** An agent server over a SQLite file that can be given no space any more. */
const withDisk = async (
  given: (disk: Disk) => WorldGiven,
  body: (world: AgentWorld, disk: Disk) => Promise<void>,
): Promise<void> => {
  const directory = mkdtempSync(join(tmpdir(), 'disk-'));
  const database = await openDatabase(join(directory, 'agent.db'));
  const ids = createIds(createFakeClock(), (count) => crypto.getRandomValues(new Uint8Array(count)));
  const store = createSqliteStore(database, { ids, probeEveryMs: 10 });
  const limitPages = (count: number): void => void database.prepare(`PRAGMA max_page_count = ${count}`).get();
  const disk: Disk = {
    database,
    // SQLite takes the present size where less is asked for.
    fill: () => limitPages(1),
    refuse: () => database.exec('PRAGMA query_only = ON'),
    free() {
      database.exec('PRAGMA query_only = OFF');
      limitPages(MANY_PAGES);
    },
  };
  try {
    const peers = createSingleServer(store);
    await body(await createAgentWorld({ ...given(disk), store, changes: { peers } }), disk);
  } finally {
    await store.close();
    rmSync(directory, { recursive: true });
  }
};
const LONG = 'x'.repeat(100_000);
const readyOf = async ({ call }: AgentWorld) => {
  const response = await call('GET', '/ready');
  return [response.status, (await response.json()).reasons];
};
const hasBug = ({ logged }: AgentWorld): boolean => logged.some((line) => line.includes('"bug"'));

describe('an agent server whose disk is full', (check) => {
  check('answers 507 with a code of its own, says so in the log and at /ready, and goes on when there is space', () =>
    withDisk(
      () => ({}),
      async (world, disk) => {
        const id = await world.session({ title: 'Mine' });
        await ask(world, id);
        assert.equal(await readyOf(world), [200, undefined]);
        disk.fill();
        const refused = await world.call('POST', `/session/${id}/message`, prompt(LONG));
        assert.is(refused.status, 507);
        assert.equal(await refused.json(), {
          name: 'InsufficientStorage',
          data: { message: 'The disk of the store is full. Its operator has to free space', code: 'disk_full' },
        });
        assert.equal(await readyOf(world), [503, ['the disk of the store is full']]);
        assert.ok(world.logged.some((line) => line.includes('"fault":"store-failed","reason":"The disk of the store')));
        assert.not.ok(hasBug(world));
        // What is stored can be read.
        assert.is((await messagesOf(world, id)).length, 2);
        disk.free();
        await until('it is ready', async () => (await readyOf(world))[0] === 200);
        assert.is(textOf(await ask(world, id, LONG)), 'hello');
      },
    ),
  );

  check('ends the message that it could not end, as soon as writes work again', () =>
    withDisk(
      (disk) => ({
        tools: [
          toolNamed('pay', async () => {
            disk.refuse();
            return outcome('paid');
          }),
        ],
        scripts: [calling({ name: 'pay', input: {} }), replying('after it')],
      }),
      async (world, disk) => {
        const id = await world.session({ title: 'Mine' });
        const response = await world.call('POST', `/session/${id}/message`, prompt('pay'));
        assert.is((await response.json()).data.code, 'disk_failing');
        await until('the run is over', async () => JSON.stringify(await world.get('/session/status')) === '{}');
        assert.is((await world.store.unfinished()).length, 1);
        assert.equal(await readyOf(world), [503, ['the disk of the store cannot be read or written']]);
        assert.ok(world.logged.some((line) => line.includes('store-trouble') && line.includes('disk')));
        assert.not.ok(hasBug(world));
        disk.free();
        await until('the message has ended', () => isQuiet(world));
        const [answer, ...others] = answersIn(await messagesOf(world, id));
        assert.equal([answer?.info.error?.name, others], ['MessageAbortedError', []]);
        assert.match(outputOf((await callsOf(world, id))[0]), 'whether it was carried out is not known');
        assert.equal(await world.store.owed(), []);
        assert.equal(await readyOf(world), [200, undefined]);
        assert.is(textOf(await ask(world, id, 'and now?')), 'after it');
      },
    ),
  );

  check('stores what needs no space, also where it is written together with what does', () =>
    withDisk(
      () => ({}),
      async ({ session, store }, disk) => {
        const [mine, other] = [await session({ title: 'Mine' }), await session({ title: 'Other' })];
        const renamed = async (id: string, title: string) => {
          const before = await store.session(id);
          assert.ok(before !== undefined);
          return [{ kind: 'session' as const, session: { ...before, title } }];
        };
        const [long, first, last] = [
          await renamed(mine, LONG),
          await renamed(mine, 'Ours'),
          await renamed(other, 'Next'),
        ];
        disk.fill();
        const results = await Promise.allSettled([first, long, last].map((changes) => store.commit(changes, [])));
        assert.equal(
          results.map(({ status }) => status),
          ['fulfilled', 'rejected', 'fulfilled'],
        );
        assert.equal([(await store.session(mine))?.title, (await store.session(other))?.title], ['Ours', 'Next']);
      },
    ),
  );

  check('is ready again only when more than a few bytes fit', () =>
    withDisk(
      () => ({}),
      async (world, disk) => {
        const id = await world.session({ title: 'Mine' });
        disk.fill();
        await world.call('POST', `/session/${id}/message`, prompt(LONG));
        // A change in place needs no space.
        assert.is((await world.call('PATCH', `/session/${id}`, { title: 'Ours' })).status, 200);
        await sleep(50);
        assert.is((await readyOf(world))[0], 503);
        disk.free();
        await until('it is ready', async () => (await readyOf(world))[0] === 200);
        const probes = disk.database.prepare("SELECT count(*) AS n FROM session WHERE id = 'space-probe'").get();
        assert.is(probes?.n, 0);
      },
    ),
  );
});

describe('an agent server whose database is damaged in the middle', (check) => {
  check('says so to clients, in the log and at /ready, and stays so', () =>
    withDisk(
      () => ({}),
      async (world, { database }) => {
        const id = await world.session({ title: 'Mine' });
        await ask(world, id);
        database.exec("UPDATE message SET data = substr(data, 1, 20) || 'secret words'");
        const refused = await world.call(
          'GET',
          `/session/${id}/message/${(await world.store.messageOutlines(id))[0]?.id}`,
        );
        assert.is(refused.status, 500);
        assert.equal(await refused.json(), {
          name: 'StoreDamaged',
          data: {
            message: 'The database of the store is damaged. Its operator has to restore a copy',
            code: 'store_damaged',
          },
        });
        assert.ok(world.logged.some((line) => line.includes('The database of the store is damaged')));
        assert.not.ok(world.logged.some((line) => line.includes('secret words')));
        await sleep(50);
        assert.equal(await readyOf(world), [503, ['the database of the store is damaged']]);
      },
    ),
  );
});
