import { DatabaseSync } from 'node:sqlite';
import * as assert from 'uvu/assert';
import { openSqliteReader } from '../../../../src/agent/adapter/sqlite/reader.ts';
import { openSqliteStore } from '../../../../src/agent/adapter/sqlite/store.ts';
import { exportSession } from '../../../../src/agent/session/export.ts';
import { importSession } from '../../../../src/agent/session/import.ts';
import { ConfigError } from '../../../../src/core/config.ts';
import { describe, rejection } from '../../../check.ts';
import { linesOf } from '../../harness/any-session.ts';
import { idsFrom, sessionOf } from '../../store/samples.ts';
import { asIs, exported, idOf, LATER, newFile, sample, sent } from './world.ts';

describe('a reader of a SQLite file', (check) => {
  check('sees what the store holds while the store goes on, and holds nothing itself', async () => {
    const file = newFile();
    const store = await openSqliteStore({ file, ids: idsFrom() });
    const given = sample();
    await importSession({ store, ids: idsFrom(LATER) }, await sent(linesOf(given)), asIs);
    const reader = await openSqliteReader(file);
    try {
      assert.equal(await exported(reader, idOf(given)), linesOf(given));
      const reading = await exportSession(reader, idOf(given));
      const iterator = reading?.[Symbol.asyncIterator]();
      for (let count = 0; count < 4; count++) await iterator?.next();
      // Whatever was written can be put away now, which is to say: nobody reads at an earlier moment.
      await store.commit([{ kind: 'session', session: sessionOf(idsFrom(LATER + 1)('session')) }], []);
      const database = new DatabaseSync(file);
      assert.is(database.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get()?.busy, 0);
      database.close();
      await store.commit([{ kind: 'session-removed', sessionID: idOf(given) }], []);
      assert.is(await reader.session(idOf(given)), undefined);
    } finally {
      reader.close();
      await store.close();
    }
  });

  check('is not made of a file that is not there, is none of ours or is of another version', async () => {
    const missing = newFile();
    const noFile = `AGENT_DATABASE_URL: no file ${missing}: run this where the server runs, or set the variable as it is there`;
    const problem = async (file: string): Promise<string> => {
      const error = await rejection(openSqliteReader(file));
      assert.instance(error, ConfigError);
      return String((error as ConfigError).problems[0]);
    };
    assert.is(await problem(missing), noFile);
    assert.is(await problem(missing), noFile);
    assert.match(await problem(import.meta.filename), 'expected a SQLite database');
    const { DatabaseSync } = await import('node:sqlite');
    const [foreign, empty, newer] = [newFile(), newFile(), newFile()];
    const strange = new DatabaseSync(foreign);
    strange.exec('CREATE TABLE other (one)');
    strange.close();
    assert.match(await problem(foreign), 'this one belongs to something else');
    new DatabaseSync(empty).close();
    assert.match(await problem(empty), 'expected a database that a server of this release has used');
    await (await openSqliteStore({ file: newer, ids: idsFrom() })).close();
    const raised = new DatabaseSync(newer);
    raised.exec('PRAGMA user_version = 99');
    raised.close();
    assert.match(await problem(newer), 'expected a database that a server of this release has used');
  });
});
