import { DatabaseSync } from 'node:sqlite';
import * as assert from 'uvu/assert';
import { migrateSqlite, SQLITE_MIGRATIONS } from '../../../src/adapter/sqlite/schema.ts';
import { ConfigError } from '../../../src/core/config.ts';
import { describe } from '../../check.ts';

const STEPS = ['CREATE TABLE a (x); INSERT INTO a VALUES (1)', 'ALTER TABLE a ADD COLUMN y; UPDATE a SET y = x + 1'];

const versionOf = (database: DatabaseSync): unknown => database.prepare('PRAGMA user_version').get()?.user_version;
const thrownBy = (body: () => void): unknown => {
  try {
    body();
  } catch (thrown) {
    return thrown;
  }
  throw new Error('Expected an error');
};

describe('the schema of a database', (check) => {
  check('is brought from nothing to the newest version, and is then left alone', () => {
    const database = new DatabaseSync(':memory:');
    migrateSqlite(database);
    assert.is(versionOf(database), SQLITE_MIGRATIONS.length);
    migrateSqlite(database);
    assert.is(versionOf(database), SQLITE_MIGRATIONS.length);
    database.close();
  });

  check('goes step by step from the version that it has', () => {
    const database = new DatabaseSync(':memory:');
    migrateSqlite(database, STEPS.slice(0, 1));
    assert.is(versionOf(database), 1);
    migrateSqlite(database, STEPS);
    assert.is(versionOf(database), 2);
    assert.equal({ ...database.prepare('SELECT * FROM a').get() }, { x: 1, y: 2 });
    database.close();
  });

  check('stays at the last whole step when one fails', () => {
    const database = new DatabaseSync(':memory:');
    thrownBy(() => migrateSqlite(database, [...STEPS, 'CREATE TABLE b (x); DELETE FROM nowhere']));
    assert.is(versionOf(database), 2);
    assert.is(database.prepare("SELECT count(*) AS n FROM sqlite_schema WHERE name = 'b'").get()?.n, 0);
    migrateSqlite(database, [...STEPS, 'CREATE TABLE b (x)']);
    assert.is(versionOf(database), 3);
    database.close();
  });

  check('is refused when it is newer than every step known', () => {
    const database = new DatabaseSync(':memory:');
    migrateSqlite(database, STEPS);
    assert.instance(
      thrownBy(() => migrateSqlite(database, STEPS.slice(0, 1))),
      ConfigError,
    );
    assert.is(versionOf(database), 2);
    database.close();
  });

  check('of the second version keeps its prompts, and owes no answer to them', () => {
    const database = new DatabaseSync(':memory:');
    migrateSqlite(database, SQLITE_MIGRATIONS.slice(0, 2));
    database.exec(`
      INSERT INTO session (id, directory, folded_title, updated, data) VALUES ('ses_1', '"/"', 'title', 5, '{}');
      INSERT INTO message VALUES ('msg_1', 'ses_1', 0, '{}')`);
    migrateSqlite(database);
    assert.is(database.prepare('SELECT count(*) AS n FROM message').get()?.n, 1);
    assert.is(database.prepare('SELECT count(*) AS n FROM owed').get()?.n, 0);
    database.close();
  });

  check('of the fourth version keeps its sessions, and gets a table of decisions', () => {
    const database = new DatabaseSync(':memory:');
    migrateSqlite(database, SQLITE_MIGRATIONS.slice(0, 4));
    database.exec(
      `INSERT INTO session (id, directory, folded_title, updated, data) VALUES ('ses_1', '"/"', 'TITLE', 5, '{}')`,
    );
    migrateSqlite(database);
    assert.is(database.prepare('SELECT count(*) AS n FROM session').get()?.n, 1);
    assert.is(database.prepare('SELECT count(*) AS n FROM decision').get()?.n, 0);
    // A search reads titles in the index: sessions are as long as their metadata.
    const search =
      "SELECT updated FROM session WHERE instr(folded_title, 'X') > 0 AND is_hidden = 0 ORDER BY updated DESC, id";
    const plan = database.prepare(`EXPLAIN QUERY PLAN ${search}`).all();
    assert.equal(
      plan.map(({ detail }) => detail),
      ['SCAN session USING COVERING INDEX session_by_time'],
    );
    database.close();
  });

  check('of the first version loses its events, goes on after their ids, and keeps all else', () => {
    const database = new DatabaseSync(':memory:');
    migrateSqlite(database, SQLITE_MIGRATIONS.slice(0, 1));
    database.exec(`
      INSERT INTO session VALUES ('ses_1', '"/"', NULL, 'title', 5, '{}');
      INSERT INTO event VALUES ('evt_1', '"/"', '{}'), ('evt_2', '"/"', '{}')`);
    migrateSqlite(database);
    const rows = (sql: string) =>
      database
        .prepare(sql)
        .all()
        .map((row) => ({ ...row }));
    assert.equal(rows('SELECT * FROM event'), []);
    assert.equal(rows('SELECT newest, forgotten FROM event_mark'), [{ newest: 'evt_2', forgotten: 'evt_2' }]);
    assert.equal(rows('SELECT id, updated, is_hidden FROM session'), [{ id: 'ses_1', updated: 5, is_hidden: 0 }]);
    database.close();
  });
});
