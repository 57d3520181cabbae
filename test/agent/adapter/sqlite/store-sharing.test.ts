import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import * as assert from 'uvu/assert';
import { openSqliteStore } from '../../../../src/agent/adapter/sqlite/store.ts';
import type { DirectoryEvent } from '../../../../src/agent/store/store.ts';
import { describe, rejection, thorough } from '../../../check.ts';
import { COMPILE_CACHE } from '../../../compile-cache.ts';
import { start } from '../../../runtime/processes.ts';
import { idsFrom, reported, sessionOf } from '../../store/samples.ts';
import { deltasOf, inDatabase, inDirectory, openAt, problemAt } from './store-world.ts';

const ROUNDS = thorough(3, 20);

const idsOf = (events: readonly DirectoryEvent[]): string[] => events.map(({ event }) => event.id);

describe('a SQLite file of several processes', (check) => {
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
      // One that has taken long lets others go on first: the order is that of the events.
      assert.equal(kept.toSorted(), ['a', 'b', 'c']);
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
