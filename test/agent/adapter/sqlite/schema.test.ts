import { DatabaseSync } from 'node:sqlite';
import * as assert from 'uvu/assert';
import { migrateSqlite, SQLITE_MIGRATIONS } from '../../../../src/agent/adapter/sqlite/schema.ts';
import { ConfigError } from '../../../../src/core/config.ts';
import { describe } from '../../../check.ts';

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

  check('lets a search for a title read the index alone: sessions are as long as their metadata', () => {
    const database = new DatabaseSync(':memory:');
    migrateSqlite(database);
    const search =
      "SELECT updated FROM session WHERE instr(folded_title, 'X') > 0 AND is_hidden = 0 ORDER BY updated DESC, id";
    const plan = database.prepare(`EXPLAIN QUERY PLAN ${search}`).all();
    assert.equal(
      plan.map(({ detail }) => detail),
      ['SCAN session USING COVERING INDEX session_by_time'],
    );
    database.close();
  });
});
