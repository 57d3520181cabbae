import { rmSync } from 'node:fs';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { openSqliteStore } from '../../../../src/agent/adapter/sqlite/store.ts';
import { decisionAbout } from '../../../../src/agent/protocol/permissions.ts';
import { DECISIONS_KEPT } from '../../../../src/agent/store/store.ts';
import { describe, thorough } from '../../../check.ts';
import { checkStore } from '../../store/contract.ts';
import { idsFrom, permissionRequest, reported, sessionOf, textPart, userMessage } from '../../store/samples.ts';
import { deltasOf, inDatabase, inDirectory, makeStore, newDirectory, openAt } from './store-world.ts';

describe('a store in a SQLite file', (check) => {
  checkStore(check, {
    isLasting: true,
    randomRuns: thorough(8, 60),
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
      await Promise.all(
        numbers.map((number) =>
          store.recordDecision(decisionAbout(permissionRequest(`per_${number}`), { reply: 'once' }, 5)),
        ),
      );
      const kept = await store.decisions({ limit: DECISIONS_KEPT + 2 });
      assert.is(kept.length, DECISIONS_KEPT);
      assert.equal([kept[0]?.id, kept.at(-1)?.id], [`per_${DECISIONS_KEPT + 1}`, 'per_2']);
      await store.close();
    }),
  );

  check('keeps decisions about requests, however many calls run under a standing rule', () =>
    inDirectory(async (file) => {
      const store = await openAt(file);
      await store.recordDecision(decisionAbout(permissionRequest('per_asked'), { reply: 'once' }, 5));
      const { asked: _, ...use } = decisionAbout(permissionRequest('per_0'), { reply: 'always', through: 'per_x' }, 5);
      const numbers = Array.from({ length: DECISIONS_KEPT + 1 }, (_, index) => index);
      await Promise.all(numbers.map((number) => store.recordDecision({ ...use, id: `per_${number}` })));
      const kept = await store.decisions({ limit: 2 * DECISIONS_KEPT });
      assert.equal([kept.length, kept.at(-2)?.id, kept.at(-1)?.id], [DECISIONS_KEPT + 1, 'per_1', 'per_asked']);
      assert.equal(
        (await store.decisions({ limit: 5, isAsked: true })).map(({ id }) => id),
        ['per_asked'],
      );
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
});
