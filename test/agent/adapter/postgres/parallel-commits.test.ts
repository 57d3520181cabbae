import { setTimeout as sleep } from 'node:timers/promises';
import type { Sql } from 'postgres';
import * as assert from 'uvu/assert';
import { groupOf } from '../../../../src/agent/adapter/postgres/schema/commit-function.ts';
import type { StoreChange } from '../../../../src/agent/store/store.ts';
import { atEnd, describe } from '../../../check.ts';
import { deltaOf, sessionOf } from '../../store/samples.ts';
import { type Peer, textsIn, until, withPeers } from './cluster-world.ts';
import { startPostgres } from './world.ts';

const database = await startPostgres();
const GATE = 4242;
/** Long enough for what must not happen to happen. */
const WHILE_MS = 300;

const changeOf = (id: string): StoreChange => ({ kind: 'session', session: sessionOf(id) });
const listenAll = (peers: readonly Peer[]): void => {
  for (const peer of peers) peer.listen();
};
const hasSettled = async (work: Promise<unknown>): Promise<boolean> =>
  Promise.race([
    work.then(
      () => true,
      () => true,
    ),
    sleep(WHILE_MS).then(() => false),
  ]);

/** Commits that write the session `ses_held` to the table stay open until the returned function is called. */
const holdCommits = async (root: Sql, table: 'session' | 'event'): Promise<() => Promise<void>> => {
  const column = table === 'event' ? 'session_id' : 'id';
  await root.unsafe(`
    CREATE FUNCTION hold() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN PERFORM pg_advisory_xact_lock_shared(${GATE}); RETURN NEW; END $$;
    CREATE TRIGGER hold BEFORE INSERT ON ${table} FOR EACH ROW WHEN (NEW.${column} = 'ses_held') EXECUTE FUNCTION hold()`);
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const { promise: held, resolve: hold } = Promise.withResolvers<void>();
  const holding = root.begin(async (within) => {
    await within`SELECT pg_advisory_xact_lock(${GATE})`;
    hold();
    await released;
  });
  await held;
  return async () => {
    release();
    await holding;
  };
};
const heldText = (text: string) => ({ directory: '/', draft: deltaOf('ses_held', text) });
const untilOpen = (root: Sql): Promise<void> =>
  until('the commit is open', async () => {
    const rows = await root`SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND objid = ${GATE} AND NOT granted`;
    return rows.length === 1;
  });

describe('commits of several servers', (check) => {
  check('of other sessions do not wait for one that is held open, nor do their events', () =>
    withPeers(database, 3, async ([a, b, c], { root }) => {
      listenAll([a!, b!, c!]);
      const release = await holdCommits(root, 'session');
      const held = a!.report('held', [changeOf('ses_held')]);
      await untilOpen(root);
      for (const count of [1, 2, 3]) await b!.report(`b${count}`, [changeOf(`ses_${count}`)]);
      await until('the third hears of them', () => c!.log.length === 3);
      const sameSession = b!.report('same session', [changeOf('ses_held')]);
      assert.not.ok(await hasSettled(sameSession));
      assert.not.ok(await hasSettled(held));
      await release();
      await Promise.all([held, sameSession]);
      for (const peer of [a!, b!, c!]) {
        await until('all is told', () => peer.log.length === 5);
        assert.equal(peer.log, ['b1', 'b2', 'b3', 'held', 'same session']);
      }
    }),
  );

  check('are stored while one has its number and is held open, and no reader passes it', () =>
    withPeers(database, 3, async ([a, b, c], { root }) => {
      listenAll([a!, b!, c!]);
      const release = await holdCommits(root, 'event');
      const held = a!.store.commit([], [heldText('held')]);
      await untilOpen(root);
      const after = [b!.report('after', [changeOf('ses_1')]), c!.report('later', [changeOf('ses_2')])];
      await until('both are stored', async () => (await root`SELECT 1 FROM session`).length === 2);
      await sleep(WHILE_MS);
      for (const peer of [a!, b!, c!]) assert.equal([peer.log, await textsIn(peer.store)], [[], []]);
      await release();
      const [reported] = await held;
      await Promise.all(after);
      for (const peer of [b!, c!]) {
        await until('all is told', () => peer.log.length === 3);
        assert.is(peer.log[0], 'held');
        assert.equal(peer.log, await textsIn(peer.store));
      }
      assert.ok(reported !== undefined && groupOf(reported.event.id) > 0);
    }),
  );

  check('go on when the connection of one that is held open dies, and that one is stored once, later', () =>
    withPeers(database, 2, async ([a, b], { root }) => {
      listenAll([a!, b!]);
      const release = await holdCommits(root, 'event');
      const held = a!.store.commit([], [heldText('held')]);
      await untilOpen(root);
      const after = b!.report('after');
      assert.not.ok(await hasSettled(after));
      await root`
        SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND query LIKE '%commit_group(%' AND pid <> pg_backend_pid()`;
      await after;
      await release();
      await held;
      await until('all is told', () => b!.log.length === 2);
      assert.equal(b!.log, ['after', 'held']);
      assert.equal(await textsIn(a!.store), ['after', 'held']);
    }),
  );

  check('of very many sessions at a time leave the locks that others need, and still wait for each other', () =>
    withPeers(database, 2, async ([a, b], { root }) => {
      const release = await holdCommits(root, 'event');
      const many = Array.from({ length: 2000 }, (_, place): StoreChange => changeOf(`ses_${place}`));
      const held = a!.store.commit(many, [heldText('held')]);
      await untilOpen(root);
      const [locks] = await root`
        SELECT count(*)::int AS count FROM pg_locks JOIN pg_database ON pg_database.oid = database
        WHERE locktype = 'advisory' AND datname = current_database()`;
      const sameSession = b!.store.commit([changeOf('ses_7')], []);
      assert.not.ok(await hasSettled(sameSession));
      await release();
      await Promise.all([held, sameSession]);
      assert.ok(locks?.count < 100, `${locks?.count} locks`);
    }),
  );

  check('are reported while another program keeps a transaction open', () =>
    withPeers(database, 2, async ([a, b], { root }) => {
      listenAll([a!, b!]);
      await root.begin(async (within) => {
        await within`CREATE TABLE other (id integer)`;
        await a!.report('a');
        await until('it is heard', () => b!.log.length === 1);
        assert.equal(await textsIn(b!.store), ['a']);
      });
    }),
  );

  check('wait for no number that a failed commit took', () =>
    withPeers(database, 2, async ([a, b], { root }) => {
      listenAll([a!, b!]);
      await a!.report('before');
      for (let count = 0; count < 5; count++) await root`SELECT nextval('event_group')`;
      await b!.report('between');
      await root`SELECT nextval('event_group')`;
      await a!.report('after');
      for (const peer of [a!, b!]) {
        await until('all is told', () => peer.log.length === 3);
        assert.equal(peer.log, ['before', 'between', 'after']);
      }
    }),
  );

  check('are heard after a database that has lost the newest numbers has become the primary', () =>
    withPeers(database, 3, async ([a, b, c], { root }) => {
      listenAll([a!, b!, c!]);
      for (let count = 0; count < 20; count++) await a!.report(`a${count}`);
      for (const peer of [b!, c!]) await until('all is told', () => peer.log.length === 20);
      await root`DELETE FROM event WHERE id > (SELECT id FROM event ORDER BY id OFFSET 4 LIMIT 1)`;
      await root`SELECT setval('event_group', (SELECT last_value FROM event_group) - 15)`;
      await b!.report('by b');
      await c!.report('by c');
      for (const peer of [a!, b!, c!]) {
        await until('all is told', () => peer.log.length === 22);
        assert.equal(peer.log.slice(20), ['by b', 'by c']);
      }
    }),
  );

  check('leave out what is refused, and store the rest', () =>
    withPeers(database, 1, async ([a]) => {
      const lease = await a!.leases.acquire('ses_1', () => {});
      await lease.release();
      const outcomes = await Promise.allSettled([
        a!.report('first'),
        a!.report('no lease', [changeOf('ses_1')], lease.id),
        a!.report('second', [changeOf('ses_2')]),
        a!.report('stale', [{ kind: 'session', session: sessionOf('ses_2'), before: sessionOf('ses_9') }]),
      ]);
      const namesOf = outcomes.map((one) => (one.status === 'rejected' ? one.reason.name : one.status));
      assert.equal(namesOf, ['fulfilled', 'LeaseLost', 'fulfilled', 'StaleSessionError']);
      assert.equal(await textsIn(a!.store), ['first', 'second']);
    }),
  );
});

atEnd(database.stop);
