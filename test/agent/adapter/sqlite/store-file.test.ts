import { chmodSync, chownSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import * as assert from 'uvu/assert';
import { openDatabase, SQLITE_MIGRATIONS } from '../../../../src/agent/adapter/sqlite/schema.ts';
import { describe, rejection } from '../../../check.ts';
import { COMPILE_CACHE } from '../../../compile-cache.ts';
import { start } from '../../../runtime/processes.ts';
import { reported, sessionOf } from '../../store/samples.ts';
import { inDatabase, inDirectory, makeStore, openAt, problemAt } from './store-world.ts';

const NOBODY = 65_534;

const modeOf = (path: string): string => (statSync(path).mode & 0o777).toString(8);

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

const proc = existsSync('/proc/self') ? undefined : 'a /proc';

const PAGE_BYTES = 4096;
/** The bytes of a sound file, whose list of tables is whole, and whose tables and indexes are not. */
const withDamagedTables = (file: string, sound: Buffer): Buffer => {
  const damaged = Buffer.from(sound);
  const pages = inDatabase(file, (database) => database.prepare('SELECT rootpage FROM sqlite_schema').all());
  for (const { rootpage } of pages) {
    const start = (Number(rootpage) - 1) * PAGE_BYTES;
    damaged.fill(0xaa, start, start + PAGE_BYTES);
  }
  return damaged;
};

describe('the file of a SQLite store', (check) => {
  check('makes its file, and a directory for it, for their owner alone', () =>
    inDirectory(async (file) => {
      const deep = join(dirname(file), 'data', 'agent.db');
      const before = process.umask(0);
      const store = await openAt(deep).finally(() => process.umask(before));
      await store.commit([{ kind: 'session', session: sessionOf('ses_1') }], []);
      assert.is(modeOf(dirname(deep)), '700');
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
      const damagedTables = withDamagedTables(file, sound);
      writeFileSync(file, Buffer.concat([sound.subarray(0, 100), Buffer.alloc(sound.length - 100, 0xaa)]));
      assert.match(await problemAt(file), /^AGENT_DATABASE_URL: expected a sound database, and this one is damaged$/);
      writeFileSync(file, damagedTables);
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

  check('is told once that a new store was made, in which directory, and never that a tree of them was', () =>
    inDirectory(async (file) => {
      const directory = dirname(file);
      const made: string[] = [];
      const openOnce = async (path: string): Promise<void> =>
        (await openDatabase(path, (missing) => void made.push(missing))).close();
      await openOnce(file);
      await openOnce(file);
      const inNew = join(directory, 'new', 'agent.db');
      await openOnce(inNew);
      assert.equal(made, [`there was no file ${file}`, `there was no file ${inNew}, and no such directory`]);
      const problem = await problemAt(join(directory, 'mistyped', 'deep', 'agent.db'));
      assert.is(
        problem,
        'AGENT_DATABASE_URL: expected a path whose directories exist; only the last one is made where it is missing',
      );
      assert.not.ok(existsSync(join(directory, 'mistyped')));
    }),
  );

  check.needing(proc, 'refuses a place where no directory can be made, and does not try for ever', () =>
    inDirectory(async (file) => {
      // A process of its own, which can be ended.
      const script = `import { openDatabase } from ${JSON.stringify(join(import.meta.dirname, '../../../../src/agent/adapter/sqlite/schema.ts'))};
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
          /^refused ConfigError AGENT_DATABASE_URL: expected a path whose directories exist; only the last one is made/,
        );
      }
    }),
  );
});
