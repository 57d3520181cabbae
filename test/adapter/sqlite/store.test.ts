import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import * as assert from 'uvu/assert';
import { openDatabase, SQLITE_MIGRATIONS } from '../../../src/adapter/sqlite/schema.ts';
import { openSqliteStore } from '../../../src/adapter/sqlite/store.ts';
import { DECISIONS_KEPT, type DirectoryEvent } from '../../../src/agent/store/store.ts';
import { ConfigError } from '../../../src/core/config.ts';
import { checkStore } from '../../agent/store/contract.ts';
import { idsFrom, reported, sessionOf, textPart, userMessage } from '../../agent/store/samples.ts';
import { COMPILE_CACHE, describe, rejection } from '../../check.ts';
import { start } from '../../runtime/processes.ts';

const ROUNDS = 20;
const NOBODY = 65_534;

const modeOf = (path: string): string => (statSync(path).mode & 0o777).toString(8);
const newDirectory = (): string => mkdtempSync(join(tmpdir(), 'store-'));

/** Runs `body` with the path of a database in a directory of its own, which is gone afterwards. */
const inDirectory = async (body: (file: string) => Promise<void>): Promise<void> => {
  const directory = newDirectory();
  try {
    await body(join(directory, 'agent.db'));
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
};
const openAt = (file: string, start?: number) => openSqliteStore({ file, ids: idsFrom(start) });
const inDatabase = <T>(file: string, body: (database: DatabaseSync) => T): T => {
  const database = new DatabaseSync(file);
  try {
    return body(database);
  } finally {
    database.close();
  }
};
const makeStore = async (file: string): Promise<void> => {
  const store = await openAt(file);
  await store.commit([{ kind: 'session', session: sessionOf('ses_1') }], [reported('first')]);
  await store.close();
};
/** The one problem that opening the file ends with. */
const problemAt = async (file: string): Promise<string> => {
  const error = await rejection(openAt(file));
  assert.instance(error, ConfigError);
  const { problems } = error as ConfigError;
  assert.is(problems.length, 1);
  assert.not.match(problems[0] ?? '', /tmp|agent\.db/);
  return problems[0] ?? '';
};
/** Root writes wherever it likes, so for the time of `body` it is somebody whom permission bits bind. */
const withoutPrivileges = async (body: () => Promise<void>): Promise<void> => {
  if (process.geteuid?.() !== 0) return body();
  process.seteuid?.(NOBODY);
  try {
    await body();
  } finally {
    process.seteuid?.(0);
  }
};
const idsOf = (events: readonly DirectoryEvent[]): string[] => events.map(({ event }) => event.id);
const deltasOf = (events: readonly DirectoryEvent[]): string[] =>
  events.map(({ event }) => (event.type === 'message.part.delta' ? event.properties.delta : ''));

describe('a store in a SQLite file', (check) => {
  checkStore(check, {
    isLasting: true,
    async createPlace() {
      const directory = newDirectory();
      let now = 0;
      // So fast that parts that grow are written now and then.
      const nowMs = () => {
        now += 150;
        return now;
      };
      return {
        open: (ids) => openSqliteStore({ file: join(directory, 'agent.db'), ids, nowMs }),
        clear: async () => rmSync(directory, { recursive: true, force: true }),
      };
    },
  });

  check('makes its file, and a directory for it, for their owner alone', () =>
    inDirectory(async (file) => {
      const deep = join(file, 'data', 'agent.db');
      const before = process.umask(0);
      const store = await openAt(deep).finally(() => process.umask(before));
      await store.commit([{ kind: 'session', session: sessionOf('ses_1') }], []);
      assert.is(modeOf(join(file, 'data')), '700');
      for (const suffix of ['', '-wal', '-shm']) assert.is(modeOf(`${deep}${suffix}`), '600');
      await store.close();
      assert.is(modeOf(deep), '600');
      assert.not(existsSync(`${deep}-wal`));
    }),
  );

  check('waits for the disk at every commit, and cascades', () =>
    inDirectory(async (file) => {
      const database = await openDatabase(file);
      const settings = ['journal_mode', 'synchronous', 'foreign_keys'].map(
        (name) => database.prepare(`PRAGMA ${name}`).get()?.[name],
      );
      database.close();
      assert.equal(settings, ['wal', 2, 1]);
    }),
  );

  check('uses indexes for what is asked often', () =>
    inDirectory(async (file) => {
      await makeStore(file);
      const planOf = (sql: string) =>
        inDatabase(file, (database) =>
          database
            .prepare(`EXPLAIN QUERY PLAN ${sql}`)
            .all()
            .map(({ detail }) => detail)
            .join('; '),
        );
      assert.match(planOf('SELECT data FROM session ORDER BY updated DESC, id LIMIT 9'), /session_by_time$/);
      assert.match(planOf('SELECT data FROM message WHERE is_unfinished = 1 ORDER BY id'), /message_unfinished$/);
      assert.match(
        planOf("SELECT data FROM message WHERE session_id = '' AND id < '' ORDER BY id DESC LIMIT 9"),
        /message_by_session \(session_id=\? AND id<\?\)$/,
      );
      assert.match(planOf("DELETE FROM event WHERE session_id = ''"), /event_by_session \(session_id=\?\)$/);
      assert.match(planOf("SELECT data FROM event WHERE id > '' ORDER BY id LIMIT 9"), /PRIMARY KEY \(id>\?\)$/);
    }),
  );

  check('begins with an empty file as with none', () =>
    inDirectory(async (file) => {
      writeFileSync(file, '');
      await makeStore(file);
      const store = await openAt(file);
      assert.is((await store.sessions({})).length, 1);
      await store.close();
    }),
  );

  check('refuses a database of a newer release, and leaves it as it is', () =>
    inDirectory(async (file) => {
      await makeStore(file);
      inDatabase(file, (database) => database.exec('PRAGMA user_version = 1000'));
      const before = readFileSync(file);
      assert.is(
        await problemAt(file),
        `AGENT_DATABASE_URL: expected a database that no newer release has written; it has version 1000, and this program knows ${SQLITE_MIGRATIONS.length}`,
      );
      assert.equal(readFileSync(file), before);
    }),
  );

  check('refuses a database of something else, and leaves it as it is', () =>
    inDirectory(async (file) => {
      inDatabase(file, (database) => database.exec('CREATE TABLE session (id); INSERT INTO session VALUES (1)'));
      const before = readFileSync(file);
      assert.match(await problemAt(file), /^AGENT_DATABASE_URL: .*something else$/);
      assert.equal(readFileSync(file), before);
      inDatabase(file, (database) => database.exec('PRAGMA application_id = 7'));
      assert.match(await problemAt(file), /something else$/);
    }),
  );

  check('refuses a file that is no database, and leaves it as it is', () =>
    inDirectory(async (file) => {
      for (const text of ['hello', 'a letter of some length\n'.repeat(1000)]) {
        writeFileSync(file, text);
        assert.match(await problemAt(file), /^AGENT_DATABASE_URL: expected a SQLite database, and the file is none$/);
        assert.is(readFileSync(file, 'utf8'), text);
      }
    }),
  );

  check('refuses a damaged database, or says so when the damage is met', () =>
    inDirectory(async (file) => {
      await makeStore(file);
      const sound = readFileSync(file);
      // The first page holds the header and the list of tables; the rest is what they hold.
      writeFileSync(file, Buffer.concat([sound.subarray(0, 100), Buffer.alloc(sound.length - 100, 0xaa)]));
      assert.match(await problemAt(file), /^AGENT_DATABASE_URL: expected a sound database, and this one is damaged$/);
      writeFileSync(file, Buffer.concat([sound.subarray(0, 4096), Buffer.alloc(sound.length - 4096, 0xaa)]));
      const store = await openAt(file);
      const damaged = /^StoreUnavailable: The database of the store is damaged$/;
      assert.match(String(await rejection(store.sessions({}))), damaged);
      assert.match(String(await rejection(store.commit([], [reported('x')]))), damaged);
      assert.is(store.health.trouble(), 'damaged');
      await store.close();
      writeFileSync(file, sound.subarray(0, 5000));
      assert.match(await problemAt(file), /damaged/);
    }),
  );

  check('names what it cannot read without quoting it', () =>
    inDirectory(async (file) => {
      await makeStore(file);
      inDatabase(file, (database) => database.exec("UPDATE session SET data = 'secret words'"));
      const store = await openAt(file);
      assert.is(
        String(await rejection(store.session('ses_1'))),
        'StoreUnavailable: The database of the store is damaged',
      );
      await store.close();
    }),
  );

  check('refuses a file, a directory or a place that it may not write', () =>
    inDirectory(async (file) => {
      const directory = join(file, '..');
      await makeStore(file);
      chownSync(directory, NOBODY, NOBODY);
      chownSync(file, NOBODY, NOBODY);
      chmodSync(file, 0o400);
      await withoutPrivileges(async () => {
        assert.match(await problemAt(file), /^AGENT_DATABASE_URL: expected a file that this process may write/);
      });
      chmodSync(file, 0o600);
      chmodSync(directory, 0o500);
      await withoutPrivileges(async () => {
        assert.match(await problemAt(file), /^AGENT_DATABASE_URL: expected a file that .*, in a directory that/);
        assert.match(await problemAt(join(directory, 'new.db')), /^AGENT_DATABASE_URL: .*\(EACCES\)$/);
        assert.match(await problemAt(join(directory, 'new', 'new.db')), /^AGENT_DATABASE_URL: .*\(EACCES\)$/);
      });
      chmodSync(directory, 0o700);
      assert.match(await problemAt(join(file, 'agent.db')), /^AGENT_DATABASE_URL: .*\((EEXIST|ENOTDIR)\)$/);
      mkdirSync(join(directory, 'folder'));
      assert.match(
        await problemAt(join(directory, 'folder')),
        /^AGENT_DATABASE_URL: expected a file that can be opened/,
      );
    }),
  );

  const proc = existsSync('/proc/self') ? undefined : 'a /proc';
  check.needing(proc, 'refuses a place where no directory can be made, and does not try for ever', () =>
    inDirectory(async (file) => {
      // A process of its own, which can be ended.
      const script = `import { openDatabase } from ${JSON.stringify(join(import.meta.dirname, '../../../src/adapter/sqlite/schema.ts'))};
        for (const path of ['/proc/none/agent.db', '/proc/none/deep/er/agent.db', ${JSON.stringify(join(file, '\0', 'agent.db'))}])
          await openDatabase(path).catch(({ name, message }) => console.log('refused', name, message));
        console.log('over');`;
      const child = start(process.execPath, ['--no-warnings', '--input-type=module', '-e', script], {
        variables: COMPILE_CACHE,
      });
      try {
        await child.outputMatching(/^over$/m);
      } finally {
        await child.kill();
      }
      const lines = child
        .stdout()
        .split('\n')
        .filter((line) => line.startsWith('refused'));
      assert.is(lines.length, 3);
      for (const line of lines.slice(0, 2)) {
        assert.match(
          line,
          /^refused ConfigError AGENT_DATABASE_URL: expected a file that can be opened or made \(ENOENT\)$/,
        );
      }
    }),
  );

  check('shares its file: ids ascend over both, and each sees what the other kept', () =>
    inDirectory(async (file) => {
      const [one, other] = [await openAt(file, Date.UTC(2026, 5, 1)), await openAt(file, Date.UTC(2026, 4, 1))];
      const events = [];
      for (let round = 0; round < 5; round += 1) {
        events.push(
          ...(await one.commit([{ kind: 'session', session: sessionOf(`ses_${round}`) }], [reported('one')])),
        );
        events.push(...(await other.commit([], [reported('other')])));
        assert.is((await other.sessions({})).length, round + 1);
      }
      assert.equal(idsOf(events), idsOf(events).toSorted());
      assert.equal(await one.events({ afterID: '', limit: 100 }), events);
      await one.close();
      assert.equal(await other.events({ afterID: '', limit: 100 }), events);
      await other.close();
    }),
  );

  check('keeps commits waiting while another process writes, and nothing stands still meanwhile', () =>
    inDirectory(async (file) => {
      const store = await openAt(file);
      const intruder = new DatabaseSync(file);
      intruder.exec('BEGIN IMMEDIATE');
      const kept: string[] = [];
      const commits = ['a', 'b'].map((text) => store.commit([], [reported(text)]).then(() => kept.push(text)));
      let beats = 0;
      for (const startedAt = performance.now(); performance.now() - startedAt < 300; beats += 1) await sleep(5);
      commits.push(store.commit([], [reported('c')]).then(() => kept.push('c')));
      assert.equal(kept, []);
      assert.ok(beats > 20, `${beats} beats`);
      intruder.exec('COMMIT');
      intruder.close();
      await Promise.all(commits);
      assert.equal(kept, ['a', 'b', 'c']);
      assert.equal(deltasOf(await store.events({ afterID: '', limit: 10 })), ['a', 'b', 'c']);
      await store.close();
    }),
  );

  check('fails a commit when another process keeps the file locked for long, and goes on afterwards', () =>
    inDirectory(async (file) => {
      const store = await openSqliteStore({ file, ids: idsFrom(), busyLimitMs: 200 });
      const intruder = new DatabaseSync(file);
      intruder.exec('BEGIN IMMEDIATE');
      const group = [store.commit([], [reported('a')]), store.commit([], [reported('b')])];
      for (const outcome of await Promise.allSettled(group)) assert.is(outcome.status, 'rejected');
      assert.equal(await store.events({ afterID: '', limit: 10 }), []);
      assert.match(
        await problemAt(file),
        /^AGENT_DATABASE_URL: expected a database that no other process holds locked$/,
      );
      intruder.exec('ROLLBACK');
      intruder.close();
      await store.commit([], [reported('c')]);
      assert.equal(deltasOf(await store.events({ afterID: '', limit: 10 })), ['c']);
      await store.close();
    }),
  );

  check('gives up on commits that still wait for another process when it is closed', () =>
    inDirectory(async (file) => {
      const store = await openAt(file);
      const intruder = new DatabaseSync(file);
      intruder.exec('BEGIN IMMEDIATE');
      const outcome = rejection(store.commit([], [reported('a')]));
      await sleep(50);
      await store.close();
      assert.match(String(await outcome), /locked/);
      intruder.close();
    }),
  );

  check('writes a part that grows once a second, and its end at once', () =>
    inDirectory(async (file) => {
      let now = 0;
      const store = await openSqliteStore({ file, ids: idsFrom(), nowMs: () => now });
      const place = { id: 'prt_1', messageID: 'msg_1', sessionID: 'ses_1' };
      await store.commit(
        [
          { kind: 'session', session: sessionOf('ses_1') },
          { kind: 'message', message: userMessage('msg_1', 'ses_1') },
        ],
        [],
      );
      const written: string[] = [];
      for (const [at, text, isGrowing] of [
        [0, 'a', true],
        [900, 'ab', true],
        [1000, 'abc', true],
        [1900, 'abcd', true],
        [1950, 'abcde', false],
        [1960, 'abcdef', true],
      ] as const) {
        now = at;
        await store.commit([{ kind: 'part', part: textPart(place, text), isGrowing }], [reported(text)]);
        const onDisk = inDatabase(file, (database) => database.prepare('SELECT data FROM part').get()?.data);
        written.push(JSON.parse(String(onDisk)).text);
      }
      assert.equal(written, ['a', 'a', 'abc', 'abc', 'abcde', 'abcdef']);
      assert.is((await store.events({ afterID: '', limit: 10 })).length, 6);
      await store.close();
    }),
  );

  check('keeps no more of its events than so many bytes, also after a restart', () =>
    inDirectory(async (file) => {
      const limit = 100_000;
      const open = () => openSqliteStore({ file, ids: idsFrom(), eventLimitBytes: limit });
      const bytesIn = () =>
        inDatabase(file, (database) =>
          Number(database.prepare('SELECT sum(octet_length(data)) AS n FROM event').get()?.n),
        );
      let store = await open();
      for (let count = 0; count < 60; count += 1) {
        await store.commit([], [reported(String(count).repeat(2000))]);
        assert.ok(bytesIn() <= limit * 1.2, `${bytesIn()} bytes after ${count}`);
        if (count % 20 !== 19) continue;
        await store.close();
        store = await open();
      }
      assert.ok(bytesIn() > limit * 0.8, `${bytesIn()} bytes`);
      const last = deltasOf(await store.events({ afterID: '', limit: 100 })).map((text) => text.slice(0, 2));
      assert.equal(last, last.toSorted());
      assert.is(last.at(-1), '59');
      assert.is.not((await store.eventSpan()).forgotten, '');
      await store.close();
      const smaller = await openSqliteStore({ file, ids: idsFrom(), eventLimitBytes: limit / 4 });
      await smaller.commit([], [reported('the first since the start')]);
      assert.ok(bytesIn() <= limit / 4, `${bytesIn()} bytes`);
      await smaller.close();
    }),
  );

  check('keeps the newest of its decisions about permission requests, so many and no more', () =>
    inDirectory(async (file) => {
      const store = await openAt(file);
      const numbers = Array.from({ length: DECISIONS_KEPT + 2 }, (_, index) => index);
      const decision = { sessionID: 'ses_1', permission: 'pay', patterns: ['*'], reply: 'once', at: 5 } as const;
      await Promise.all(numbers.map((number) => store.recordDecision({ ...decision, id: `per_${number}` })));
      const kept = await store.decisions({ limit: DECISIONS_KEPT + 2 });
      assert.is(kept.length, DECISIONS_KEPT);
      assert.equal([kept[0]?.id, kept.at(-1)?.id], [`per_${DECISIONS_KEPT + 1}`, 'per_2']);
      await store.close();
    }),
  );

  check('forgets a session whose making was given up a day ago, and none that is being made', () =>
    inDirectory(async (file) => {
      const store = await openAt(file);
      for (const id of ['ses_1', 'ses_2'])
        await store.commit(
          [{ kind: 'session-begun', session: sessionOf(id, { time: { created: 1, updated: 1 } }) }],
          [],
        );
      inDatabase(file, (database) =>
        database.exec("UPDATE session SET updated = updated - 86400000 - 2000 WHERE id = 'ses_1'"),
      );
      await store.pruneEvents(10);
      const left = inDatabase(file, (database) => database.prepare('SELECT id FROM session').all());
      assert.equal(
        left.map(({ id }) => id),
        ['ses_2'],
      );
      await store.close();
    }),
  );

  check('reads a large session in pieces, and other things go on in between', () =>
    inDirectory(async (file) => {
      const store = await openAt(file);
      const parts = Array.from({ length: 12 }, (_, index) => {
        const messageID = `msg_${String(index).padStart(2, '0')}`;
        return textPart({ id: `prt_${index}`, messageID, sessionID: 'ses_1' }, String(index).repeat(2_000_000));
      });
      await store.commit([{ kind: 'session', session: sessionOf('ses_1') }], []);
      for (const part of parts) {
        const message = userMessage(part.messageID, 'ses_1');
        await store.commit(
          [
            { kind: 'message', message },
            { kind: 'part', part },
          ],
          [],
        );
      }
      let turns = 0;
      let isRead = false;
      const reading = store.messages('ses_1').finally(() => {
        isRead = true;
      });
      for (; !isRead; turns += 1) await new Promise((resolve) => setImmediate(resolve));
      assert.ok(turns > 4, `${turns} turns`);
      const [read, kept] = [(await reading).flatMap((message) => message.parts), parts];
      assert.is(JSON.stringify(read), JSON.stringify(kept));
      assert.equal(
        (await store.messages('ses_1', { limit: 2 })).map(({ info }) => info.id),
        ['msg_10', 'msg_11'],
      );
      await store.close();
    }),
  );

  check('blocks no one by reading: what was written before is put away while pages are read', () =>
    inDirectory(async (file) => {
      const store = await openAt(file);
      await store.commit(
        [],
        ['a', 'b', 'c'].map((text) => reported(text.repeat(1000))),
      );
      assert.is((await store.events({ afterID: '', limit: 10, limitBytes: 1 })).length, 1);
      const checkpoint = inDatabase(file, (database) => database.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get());
      assert.is(checkpoint?.busy, 0);
      await store.close();
    }),
  );

  check('fails the whole group when the database ends the transaction by itself, and goes on afterwards', () =>
    inDirectory(async (file) => {
      await makeStore(file);
      const store = await openAt(file);
      const session = { kind: 'session', session: sessionOf('ses_2') } as const;
      // A full disk does the same: it ends the transaction under a task, and with it the marks of all tasks.
      inDatabase(file, (database) =>
        database.exec("CREATE TRIGGER no_more BEFORE INSERT ON event BEGIN SELECT raise(ROLLBACK, 'no more'); END"),
      );
      const outcomes = await Promise.allSettled([
        store.commit([session], []),
        store.commit([], [reported('a')]),
        store.commit([{ ...session, session: sessionOf('ses_3') }], []),
      ]);
      for (const outcome of outcomes) assert.is(outcome.status, 'rejected');
      assert.match(String(outcomes[0]?.status === 'rejected' && outcomes[0].reason), /no more/);
      inDatabase(file, (database) => database.exec('DROP TRIGGER no_more'));
      assert.is((await store.sessions({})).length, 1);
      await store.commit([session], [reported('b')]);
      assert.is((await store.sessions({})).length, 2);
      await store.close();
    }),
  );

  check(`loses nothing that it has acknowledged when its process is killed, ${ROUNDS} times`, () =>
    inDirectory(async (file) => {
      let next = 1;
      for (let round = 0; round < ROUNDS; round += 1) {
        const child = start(process.execPath, [join(import.meta.dirname, 'committer.ts'), file, String(next)], {
          variables: COMPILE_CACHE,
        });
        await child.outputMatching(new RegExp(`^kept ${next + 3 + ((round * 7) % 40)}$`, 'm'));
        await child.kill();
        const lines = [...child.stdout().matchAll(/^kept (\d+)$/gm)].map(([, number]) => Number(number));
        assert.is(child.stdout().replace(/^kept \d+\n/gm, ''), '');
        inDatabase(file, (database) =>
          assert.is(database.prepare('PRAGMA integrity_check').get()?.integrity_check, 'ok'),
        );

        const store = await openAt(file);
        const kept = Number((await store.session('ses_1'))?.title);
        assert.ok(kept >= Math.max(...lines), `said ${Math.max(...lines)}, kept ${kept}`);
        const [message] = await store.messages('ses_1');
        const texts = message?.parts.map((part) => (part.type === 'text' ? part.text.split(' ')[0] : ''));
        assert.equal(texts, [String(kept), String(kept)]);
        assert.is((await store.output('ses_1', 'prt_1'))?.split(' ')[0], String(kept));
        const events = await store.events({ afterID: '', limit: 1_000_000 });
        const expected = Array.from({ length: kept }, (_, index) => [`${index + 1} first`, `${index + 1} second`]);
        assert.equal(deltasOf(events), expected.flat());
        await store.close();
        next = kept + 1;
      }
    }),
  );
});
