import { setTimeout as sleep } from 'node:timers/promises';
import postgres from 'postgres';
import * as assert from 'uvu/assert';
import { LeaseLostError, StoreUnavailableError } from '../../../../src/agent/store/errors.ts';
import { atEnd, describe, rejection } from '../../../check.ts';
import { sessionOf } from '../../store/samples.ts';
import { openPeer, type Peer, startWire, textsIn, until, withPeers } from './cluster-world.ts';
import { startPostgres } from './world.ts';

const COMMITS = 300;
const LANES = 6;
/** More than so many connections are cut. */
const CUTS = 20;
const FILLING = 'x'.repeat(20_000);

const database = await startPostgres({ isOwn: true });

const numbersOf = (texts: readonly string[], lane: string): number[] =>
  texts.filter((text) => text.startsWith(`${lane}.`)).map((text) => Number(text.slice(lane.length + 1)));
const upTo = (count: number): number[] => Array.from({ length: count }, (_, index) => index);

describe('commits whose connection is cut', (check) => {
  check('are kept once and in order, wherever in the middle it was', () =>
    withPeers(database, 2, async (peers, { root }) => {
      let isOver = false;
      let cuts = 0;
      const kept = upTo(LANES).map(() => 0);
      const total = (): number => kept.reduce((sum, count) => sum + count, 0);
      const lane = async (index: number): Promise<void> => {
        const peer = peers[index % 2];
        // A fast machine gives less time to cut in.
        for (let count = 0; count < COMMITS / LANES || (cuts <= CUTS && count < 4 * COMMITS); count++) {
          const session = sessionOf(`ses_${index}_${count}`, { title: FILLING });
          await peer?.report(`${index}.${count}`, [{ kind: 'session', session }]);
          kept[index] = count + 1;
          await sleep(Math.random() * 10);
        }
      };
      const cutting = (async () => {
        while (!isOver) {
          const cut = await root`
            SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE state = 'active' AND query LIKE '%commit_group(%' AND pid <> pg_backend_pid()`;
          cuts += cut.length;
          // A fast commit is seldom seen at work, so a miss looks again soon; a hit leaves time for the retry.
          await sleep(cut.length > 0 ? 60 + Math.random() * 60 : Math.random() * 5);
          // A slow machine is always seen at work: it gets a commit through between two cuts, every other time.
          const before = total();
          if (cut.length > 0 && Math.random() < 0.5) while (total() === before && !isOver) await sleep(5);
        }
      })();
      cutting.catch(() => {});
      await Promise.all(upTo(LANES).map(lane));
      isOver = true;
      await cutting;
      // Its connections were cut as well, and a question finds that out.
      await until('it can be asked', () =>
        peers[0]!.store.eventSpan().then(
          () => true,
          () => false,
        ),
      );
      const texts = await textsIn(peers[0]!.store);
      const all = total();
      assert.is(texts.length, all);
      for (const [index, count] of kept.entries()) assert.equal(numbersOf(texts, String(index)), upTo(count));
      assert.is((await peers[0]!.store.sessions({})).length, all);
      console.log(`figure: ${cuts} connections were cut in ${all} commits`);
      assert.ok(cuts > CUTS, `${cuts} cuts`);
    }),
  );

  check('after the database has kept them, and before it could say so, are kept once', () =>
    withPeers(database, 0, async (_, { schema }) => {
      const wire = await startWire(database.port);
      const peer = await openPeer(wire.urlOf(database.url), schema);
      try {
        let answers = 0;
        wire.cutAt((answer) => answer.includes('"number" :') && ++answers % 3 === 0);
        for (const count of upTo(60)) await peer.report(`0.${count}`);
        const cuts = wire.cuts();
        wire.cutAt(() => false);
        assert.ok(cuts >= 20, `${cuts} cuts`);
        assert.equal(numbersOf(peer.log, '0'), upTo(60));
        assert.equal(await textsIn(peer.store), peer.log);
      } finally {
        await peer.vanish();
        await wire.stop();
      }
    }),
  );

  check('and come to it so late that a later one was kept are not kept any more', () =>
    withPeers(database, 1, async ([peer], { root }) => {
      const drafts = JSON.stringify([{ directory: '"/"', data: '{}' }]);
      const send = (batch: number) =>
        root`SELECT commit_group(${peer!.membership.serverID()}, ${batch}, 0, '[]', '[]', ${drafts}::text::json)`;
      await send(1);
      await send(1);
      await send(2);
      await send(1);
      assert.is((await peer!.store.events({ afterID: '', limit: 10 })).length, 2);
    }),
  );
});

describe('a database that is away', (check) => {
  check('for longer than commits wait fails them, and later ones are kept', () =>
    withPeers(
      database,
      1,
      async ([peer]) => {
        await peer!.report('before');
        const restarted = database.restart(2500);
        await until('it is away', () =>
          peer!.store.eventSpan().then(
            () => false,
            () => true,
          ),
        );
        const failed = await Promise.all(upTo(3).map((count) => rejection(peer!.report(`while ${count}`))));
        for (const error of failed) assert.instance(error, StoreUnavailableError);
        assert.instance(await rejection(peer!.store.session('ses_1')), StoreUnavailableError);
        assert.is(peer!.storeTrouble(), 'unreachable');
        await restarted;
        await until('a commit is kept', () =>
          peer!.report('after').then(
            () => true,
            () => false,
          ),
        );
        await peer!.report('last');
        assert.is(peer!.storeTrouble(), undefined);
        assert.equal(await textsIn(peer!.store), ['before', 'after', 'last']);
      },
      { awayLimitMs: 700 },
    ),
  );

  check('for a moment makes commits wait, and they are kept', () =>
    withPeers(database, 1, async ([peer]) => {
      const restarted = database.restart(300);
      const reported = upTo(20).map((count) => peer!.report(`0.${count}`));
      await Promise.all([restarted, ...reported]);
      assert.equal(
        await textsIn(peer!.store),
        upTo(20).map((count) => `0.${count}`),
      );
    }),
  );

  check.thorough(
    'because the way to it has gone dead is found again by a way that has not, and nothing is kept twice',
    () =>
      withPeers(database, 0, async (_, { schema }) => {
        const wire = await startWire(database.port);
        const given = { answerLimitMs: 400, awayLimitMs: 1500 };
        const peer = await openPeer(wire.urlOf(database.url), schema, given);
        try {
          peer.listen();
          await peer.report('before');
          wire.standStill(true);
          const failed = [peer.store.session('ses_1'), peer.report('never'), peer.leases.acquire('ses_1', () => {})];
          for (const error of await Promise.all(failed.map(rejection))) assert.instance(error, StoreUnavailableError);
          assert.is(peer!.storeTrouble(), 'unreachable');
          const during = peer.report('during');
          wire.standStill(false);
          await during;
          await peer.report('after');
          assert.equal(
            (await textsIn(peer.store)).filter((text) => text !== 'never'),
            ['before', 'during', 'after'],
          );
          await until('it beats again', () => peer.storeTrouble() === undefined);
        } finally {
          await peer.vanish();
          await wire.stop();
        }
      }),
  );

  check.thorough('because it lets no one else in fails what is asked, and ends nothing', async () => {
    const url = await database.freshDatabase();
    const name = new URL(url).pathname.slice(1);
    const root = postgres(database.url, { max: 1 });
    await root`CREATE ROLE few LOGIN PASSWORD 'few'`;
    await root`GRANT CREATE ON DATABASE ${root(name)} TO few`;
    const peer = await openPeer(Object.assign(new URL(url), { username: 'few', password: 'few' }).href, 'gatehouse', {
      awayLimitMs: 1000,
    });
    try {
      peer.listen();
      await peer.report('before');
      await root`ALTER ROLE few CONNECTION LIMIT 0`;
      await root`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'few'`;
      assert.instance(await rejection(peer.report('while')), StoreUnavailableError);
      assert.instance(await rejection(peer.store.session('ses_1')), StoreUnavailableError);
      assert.instance(await rejection(peer.leases.acquire('ses_1', () => {})), StoreUnavailableError);
      await root`ALTER ROLE few CONNECTION LIMIT 2`;
      // Of its connections two are let in, and with one of them it may listen: it does with that.
      await until('a commit is kept', () =>
        peer.report('after').then(
          () => true,
          () => false,
        ),
      );
      await root`ALTER ROLE few CONNECTION LIMIT -1`;
      await until('it is well', () =>
        peer.store.sessions({}).then(
          () => true,
          () => false,
        ),
      );
      assert.equal(await textsIn(peer.store), ['before', 'after']);
    } finally {
      await peer.vanish();
      await root.end();
    }
  });
});

describe('a lease', (check) => {
  check('that is gone lets nothing be kept, and what has none beside it is', () =>
    withPeers(database, 1, async ([peer], { root }) => {
      const lease = await peer!.leases.acquire('ses_1', () => {});
      await peer!.report('held', [], lease.id);
      await root`DELETE FROM ticket`;
      const outcomes = await Promise.allSettled([
        peer!.report('free'),
        peer!.report('lost', [{ kind: 'session', session: sessionOf('ses_1') }], lease.id),
        peer!.report('free too'),
      ]);
      assert.equal(
        outcomes.map(({ status }) => status),
        ['fulfilled', 'rejected', 'fulfilled'],
      );
      assert.instance((outcomes[1] as PromiseRejectedResult).reason, LeaseLostError);
      assert.equal(await textsIn(peer!.store), ['held', 'free', 'free too']);
      assert.is(await peer!.store.session('ses_1'), undefined);
    }),
  );

  check.thorough('of which the number was lost on the way blocks no one for long', () => {
    // Nobody is to be taken for dead here, on a busy machine either.
    const times = { beatMs: 150, aliveMs: 4000 };
    const work = async ([other]: readonly Peer[], { schema }: { readonly schema: string }): Promise<void> => {
      const wire = await startWire(database.port);
      const peer = await openPeer(wire.urlOf(database.url), schema, { connections: 1, times });
      try {
        peer.listen();
        // Its one connection knows the statement from now on: it is carried out before anything is answered.
        await (await peer.leases.acquire('ses_0', () => {})).release();
        wire.cutAt(() => true);
        const failed = peer.leases.acquire('ses_1', () => {});
        assert.instance(await rejection(failed), StoreUnavailableError);
        wire.cutAt(() => false);
        const startedAt = performance.now();
        await (await other!.leases.acquire('ses_1', () => {})).release();
        assert.ok(performance.now() - startedAt < 5000);
        assert.is(peer.errors.length < 5, true);
      } finally {
        await peer.vanish();
        await wire.stop();
      }
    };
    return withPeers(database, 1, work, { times });
  });

  check.thorough('that could not be given back is given back later', () =>
    withPeers(database, 1, async ([other], { schema }) => {
      const wire = await startWire(database.port);
      const peer = await openPeer(wire.urlOf(database.url), schema);
      try {
        peer.listen();
        other!.listen();
        const lease = await peer.leases.acquire('ses_1', () => {});
        wire.cutAt(() => true);
        wire.cutAll();
        await lease.release();
        wire.cutAt(() => false);
        await (await other!.leases.acquire('ses_1', () => {})).release();
        assert.equal(await other!.leases.statuses(), {});
      } finally {
        await peer.vanish();
        await wire.stop();
      }
    }),
  );
});

atEnd(database.stop);
