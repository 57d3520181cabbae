import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import * as assert from 'uvu/assert';
import {
  ALWAYS_MS,
  decisionAbout,
  type PermissionOutcome,
  type PermissionRequest,
} from '../../../../src/agent/protocol/permissions.ts';
import { DECISIONS_KEPT } from '../../../../src/agent/store/store.ts';
import { atEnd, describe, rejection, thorough } from '../../../check.ts';
import { permissionRequest, sessionOf } from '../../store/samples.ts';
import { openPeer, type Peer, startWire, textsIn, until, withPeers } from './cluster-world.ts';
import { startPostgres } from './world.ts';

const database = await startPostgres({ isOwn: true });

const numbers = (count: number): number[] => Array.from({ length: count }, (_, index) => index);
const listenAll = (peers: readonly Peer[]): void => {
  for (const peer of peers) peer.listen();
};
const asked = (id: string): PermissionRequest => ({
  ...permissionRequest(id),
  metadata: { words: 'a\0b \ud800' },
});
const rule = (permission: string) => ({ permission, pattern: '*', action: 'allow' as const });

describe('a server that others took for dead', (check) => {
  check('loses its leases, becomes a member again, and works again', () =>
    withPeers(database, 2, async ([a, b], { root }) => {
      listenAll([a!, b!]);
      let isLost = false;
      const lease = await a!.leases.acquire('ses_1', () => {
        isLost = true;
      });
      const old = a!.membership.serverID();
      await root`DELETE FROM server WHERE id = ${old}`;
      // Whichever finds it out first, the commit or the beat.
      const error = await rejection(a!.report('too late', [], lease.id));
      assert.match(String(error), /^(?:MembershipLost|LeaseLost)/);
      assert.ok(isLost);
      assert.is.not(a!.membership.serverID(), old);
      await lease.release();
      const again = await a!.leases.acquire('ses_1', () => {});
      await a!.report('again', [], again.id);
      await again.release();
      await until('the other hears of it', () => b!.log.includes('again'));
      assert.equal(await textsIn(b!.store), ['again']);
      const rows = await root`SELECT id FROM server ORDER BY id`;
      assert.equal(
        rows.map(({ id }) => id),
        [a!.membership.serverID(), b!.membership.serverID()].sort(),
      );
    }),
  );

  check('finds it out at its next beat, though it has nothing to keep', () =>
    withPeers(database, 1, async ([a], { root }) => {
      a!.listen();
      let lost = 0;
      await a!.leases.acquire('ses_1', () => void lost++);
      // It waits for the first one, at the same server. It may look for its ticket before the beat: the rejection is enough for it.
      const waiting = rejection(a!.leases.acquire('ses_1', () => {}));
      await until('it waits', async () => (await root`SELECT 1 FROM ticket`).length === 2);
      await root`DELETE FROM server`;
      assert.instance(await waiting, Error);
      await until('it is told', () => lost === 1);
      await (await a!.leases.acquire('ses_1', () => {})).release();
    }),
  );

  check('begins nothing under a ticket that ended with its membership', () =>
    withPeers(database, 2, async ([a, b], { root }) => {
      // It does not beat, so nobody tells it.
      const held = await b!.leases.acquire('ses_1', () => {});
      const waiting = rejection(a!.leases.acquire('ses_1', () => {}));
      await until('it waits', async () => (await root`SELECT 1 FROM ticket`).length === 2);
      await root`DELETE FROM server WHERE id = ${a!.membership.serverID()}`;
      await held.release();
      const error = await waiting;
      assert.is(error instanceof Error && error.name, 'LeaseLost');
    }),
  );

  check.thorough('is none because all of them stood still, or the database did', () =>
    withPeers(database, 0, async (_, { schema }) => {
      const wire = await startWire(database.port);
      const peers = await Promise.all([1, 2, 3].map(() => openPeer(wire.urlOf(database.url), schema)));
      try {
        listenAll(peers);
        const seats = peers.map(({ membership }) => membership.serverID());
        const leases = await Promise.all(peers.map(({ leases }, place) => leases.acquire(`ses_${place}`, () => {})));
        await sleep(2000);
        // Longer than it takes to be dead.
        await database.restart(1500);
        await until('all are well', () => peers.every(({ storeTrouble }) => storeTrouble() === undefined));
        const newcomer = await openPeer(database.url, schema);
        newcomer.listen();
        await sleep(500);
        for (const [place, peer] of peers.entries()) await peer.report(`kept ${place}`, [], leases[place]?.id);
        assert.equal(
          peers.map(({ membership }) => membership.serverID()),
          seats,
        );
        await newcomer.leave();
      } finally {
        await Promise.all(peers.map((peer) => peer.vanish()));
        await wire.stop();
      }
    }),
  );

  check.thorough('is buried by who was well all the while, and by no one sooner', () =>
    withPeers(database, 3, async ([a, b, c], { root }) => {
      listenAll([b!, c!]);
      const lease = await a!.leases.acquire('ses_1', () => {});
      const startedAt = performance.now();
      const next = b!.leases.acquire('ses_1', () => {});
      let isAborted = false;
      const aborting = c!.leases.abort('ses_1').then(() => {
        isAborted = true;
      });
      await sleep(500);
      assert.not.ok(isAborted);
      await next.then((own) => own.release());
      assert.ok(performance.now() - startedAt > 700);
      // An abort of what a dead server did settles as well.
      await aborting;
      assert.equal((await root`SELECT id FROM server ORDER BY id`).length, 2);
      await rejection(a!.report('from the grave', [], lease.id));
    }),
  );

  check('is asked to abort a prompt of a session, or all of it', () =>
    withPeers(database, 2, async ([a, b]) => {
      listenAll([a!, b!]);
      const lease = await a!.leases.acquire('ses_1', () => {});
      await Promise.all([b!.leases.abort('ses_1', 'msg_1'), b!.leases.abort('ses_1', 'msg_2')]);
      while (!a!.aborts.includes('msg_1') || !a!.aborts.includes('msg_2')) await sleep(10);
      assert.not.ok(a!.aborts.includes('ses_1'));
      const aborting = b!.leases.abort('ses_1');
      while (!a!.aborts.includes('ses_1')) await sleep(10);
      await lease.release();
      await aborting;
    }),
  );

  check('is none of those that left: they leave no row behind', () =>
    withPeers(database, 3, async (peers, { root }) => {
      listenAll(peers);
      const request = asked('per_1');
      await peers[0]!.permissionRequests.add(request, () => {});
      await peers[0]!.leases.acquire('ses_1', () => {});
      await sleep(Math.random() * 300);
      await Promise.all(peers.map((peer) => peer.leave()));
      for (const table of ['server', 'ticket', 'ask'])
        assert.equal([...(await root`SELECT 1 FROM ${root(table)}`)], []);
    }),
  );
});

describe('events of several servers', (check) => {
  check('are reported at each in one order without a gap, while all of them keep some', () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(fc.integer({ min: 0, max: 4 }), { minLength: 1, maxLength: 25 }), {
          minLength: 2,
          maxLength: 4,
        }),
        (lanes) =>
          withPeers(database, lanes.length, async (peers) => {
            listenAll(peers);
            await Promise.all(
              lanes.map(async (pauses, index) => {
                const waits = pauses.map(async (pause, count) => {
                  const reporting = peers[index]!.report(`${index}.${count}`);
                  if (pause === 0) await reporting;
                  return reporting;
                });
                await Promise.all(waits);
              }),
            );
            const stored = await textsIn(peers[0]!.store);
            assert.is(stored.length, lanes.flat().length);
            for (const peer of peers) {
              await until('all is told', () => peer.log.length >= stored.length);
              assert.equal(peer.log, stored);
            }
          }),
      ),
      { numRuns: thorough(1, 12) },
    ),
  );

  check('go on when a listening connection is cut, and when the database is restarted', () =>
    withPeers(database, 2, async ([a, b], { root }) => {
      listenAll([a!, b!]);
      const collected = (text: string) => until(`${text} is heard`, () => b!.log.includes(text));
      await a!.report('first');
      await collected('first');
      for (const count of numbers(3)) {
        await root`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query ILIKE 'listen%'`;
        await a!.report(`cut ${count}`);
        await collected(`cut ${count}`);
      }
      await database.restart(600);
      await until('it is back', () =>
        a!.report('back').then(
          () => true,
          () => false,
        ),
      );
      await collected('back');
      // By a notification, and not by the next beat.
      await until('somebody listens', async () => {
        const rows = await root`SELECT 1 FROM pg_stat_activity WHERE query ILIKE 'listen%'`.catch(() => []);
        return rows.length >= 2;
      });
      assert.equal(await textsIn(b!.store), b!.log);
    }),
  );

  check('are forgotten by their number while others are kept, and the newest that went is known', () =>
    withPeers(database, 2, async ([a, b]) => {
      listenAll([a!, b!]);
      const reporting = Promise.all(
        [a!, b!].map(async (peer, index) => {
          for (const count of numbers(60)) await peer.report(`${index}.${count}`);
        }),
      );
      for (const _ of numbers(10)) {
        await Promise.all([a!.store.pruneEvents(20), b!.store.pruneEvents(20)]);
        await sleep(20);
      }
      await reporting;
      await a!.store.pruneEvents(5);
      const [left, span] = [await a!.store.events({ afterID: '', limit: 1000 }), await a!.store.eventSpan()];
      assert.is(left.length, 5);
      assert.is(span.oldest, left[0]?.event.id);
      assert.is(span.newest, left.at(-1)?.event.id);
      assert.ok(span.forgotten < span.oldest && span.forgotten !== '');
      await a!.store.pruneEvents(0);
      assert.equal(await a!.store.eventSpan(), { oldest: '', forgotten: span.newest, newest: span.newest });
      await a!.report('after');
      assert.ok((await a!.store.eventSpan()).newest > span.newest);
    }),
  );

  check('are forgotten by their bytes', () =>
    withPeers(
      database,
      1,
      async ([a]) => {
        for (const count of numbers(10)) await a!.report(`${count}${'x'.repeat(1000)}`);
        await a!.store.pruneEvents(1000);
        const left = await textsIn(a!.store);
        assert.equal(
          left.map((text) => text[0]),
          ['7', '8', '9'],
        );
      },
      { eventLimitBytes: 4000 },
    ),
  );
});

describe('leases under a race', (check) => {
  check('are held by one at a time, and given in the order of their tickets', () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.nat(2), fc.nat(2), fc.nat(15)), { minLength: 4, maxLength: 40 }),
        (wishes) =>
          withPeers(database, 3, async (peers) => {
            listenAll(peers);
            const held = new Map<string, number>();
            const order = new Map<string, bigint[]>();
            await Promise.all(
              wishes.map(async ([peer, session, holdMs]) => {
                const id = `ses_${session}`;
                const lease = await peers[peer]!.leases.acquire(id, () => {});
                held.set(id, (held.get(id) ?? 0) + 1);
                assert.is(held.get(id), 1, 'two leases of a session at once');
                order.set(id, [...(order.get(id) ?? []), BigInt(lease.id ?? 0)]);
                await peers[peer]!.report(`under ${lease.id}`, [], lease.id);
                await sleep(holdMs);
                held.set(id, 0);
                await lease.release();
              }),
            );
            for (const seqs of order.values())
              assert.ok(seqs.every((seq, place) => place === 0 || seq > seqs[place - 1]!));
            assert.equal(await peers[0]!.leases.statuses(), {});
          }),
      ),
      { numRuns: thorough(1, 8) },
    ),
  );

  check.thorough('and changes of two sessions in opposite order at two servers stop neither', () =>
    withPeers(database, 2, async ([a, b]) => {
      const [one, two] = ['ses_1', 'ses_2'].map((id) => ({ kind: 'session' as const, session: sessionOf(id) }));
      await Promise.all(
        numbers(40).flatMap((count) => [
          a!.report(`a.${count}`, [one!, two!]),
          b!.report(`b.${count}`, [two!, one!]),
          a!.leases.abort('ses_1'),
          b!.store.pruneEvents(1000),
        ]),
      );
      assert.is((await textsIn(a!.store)).length, 80);
    }),
  );
});

describe('questions of several servers', (check) => {
  check('are answered once, no matter who answers and however many do at once', () =>
    withPeers(database, 3, async (peers, { root }) => {
      listenAll(peers);
      const collected = new Map<string, PermissionOutcome[]>();
      for (const count of numbers(12)) {
        const id = `per_${count}`;
        collected.set(id, []);
        await peers[count % 3]!.permissionRequests.add(asked(id), (outcome) => void collected.get(id)?.push(outcome));
      }
      assert.equal(
        (await peers[0]!.permissionRequests.open()).map(({ id }) => id),
        numbers(12).map((count) => `per_${count}`),
      );
      assert.equal((await peers[1]!.permissionRequests.open())[0], asked('per_0'));
      const won = await Promise.all(
        numbers(12).flatMap((count) =>
          peers.map((peer, place) =>
            peer.permissionRequests.answer({
              ...decisionAbout(asked(`per_${count}`), { reply: 'always', by: `${place}` }, 5),
              covers: [rule(`${count}.${place}`)],
            }),
          ),
        ),
      );
      assert.is(won.filter(Boolean).length, 12);
      await until('all are told', () => [...collected.values()].every((outcomes) => outcomes.length > 0));
      await sleep(400);
      for (const outcomes of collected.values()) assert.equal(outcomes, [{ reply: 'always' }]);
      assert.is((await peers[2]!.permissionRequests.standing(5)).length, 12);
      const kept = await peers[1]!.store.decisions({ limit: 100 });
      assert.equal(
        kept.map(({ id }) => id).sort(),
        numbers(12)
          .map((count) => `per_${count}`)
          .sort(),
      );
      // Each with the name of the one whose answer counted, which its rules say as well.
      for (const { id, by, covers } of kept) assert.equal(covers, [rule(`${id.slice(4)}.${by}`)]);
      assert.equal([...(await root`SELECT 1 FROM ask`)], []);
    }),
  );

  check('that are answered with always make rules that every server counts, ends and forgets', () =>
    withPeers(database, 2, async ([a, b]) => {
      listenAll([a!, b!]);
      const [here, there] = [a!.permissionRequests, b!.permissionRequests];
      for (const [id, at] of [
        ['per_1', 5],
        ['per_2', 6],
      ] as const) {
        await here.add(asked(id), () => {});
        await there.answer(decisionAbout(asked(id), { reply: 'always', by: 'ana' }, at));
      }
      const under = (id: string, through: string, at: number) =>
        decisionAbout(asked(id), { reply: 'always', by: 'ana', through }, at);
      const over = 5 + ALWAYS_MS;
      assert.ok(await here.use('per_1', under('per_3', 'per_1', 7)));
      assert.ok(await there.use('per_1', under('per_6', 'per_1', 8)));
      assert.equal(
        (await here.standing(over - 1)).map(({ id, uses }) => [id, uses]),
        [
          ['per_1', 2],
          ['per_2', 0],
        ],
      );
      // Its hour is over, and the other one is revoked at one server.
      assert.is(await there.use('per_1', under('per_4', 'per_1', over)), false);
      assert.equal(
        [await here.revoke('per_2'), await there.revoke('per_2'), await there.revoke('\0')],
        [true, false, false],
      );
      assert.is(await there.use('per_2', under('per_5', 'per_2', 8)), false);
      assert.equal(await there.standing(over), []);
      assert.equal(
        (await here.standing(8)).map(({ id }) => id),
        ['per_1'],
      );
      const kept = (await b!.store.decisions({ limit: 10 })).map(({ id, through }) => [id, through]);
      assert.equal(kept, [
        ['per_6', 'per_1'],
        ['per_3', 'per_1'],
        ['per_2', undefined],
        ['per_1', undefined],
      ]);
    }),
  );

  check('make rules that go with their session', () =>
    withPeers(database, 2, async ([a, b]) => {
      listenAll([a!, b!]);
      for (const [id, sessionID] of [
        ['per_1', 'ses_1'],
        ['per_2', 'ses_2'],
      ] as const) {
        const request = { ...asked(id), sessionID };
        await a!.store.commit([{ kind: 'session', session: sessionOf(sessionID) }], []);
        await a!.permissionRequests.add(request, () => {});
        await a!.permissionRequests.answer(decisionAbout(request, { reply: 'always', by: 'ana' }, 5));
      }
      await b!.store.commit([{ kind: 'session-removed', sessionID: 'ses_1' }], []);
      assert.equal(
        (await a!.permissionRequests.standing(6)).map(({ id }) => id),
        ['per_2'],
      );
    }),
  );

  check('go with a server that is buried, and one it asks under its old membership is refused', () =>
    withPeers(database, 2, async ([a, b], { root }) => {
      listenAll([b!]);
      await a!.permissionRequests.add(asked('per_1'), () => {});
      await root`DELETE FROM server WHERE id = ${a!.membership.serverID()}`;
      assert.equal(await b!.permissionRequests.open(), []);
      assert.is(await b!.permissionRequests.answer(decisionAbout(asked('per_1'), { reply: 'once' }, 5)), false);
      const error = await rejection(a!.permissionRequests.add(asked('per_2'), () => {}));
      assert.is(error instanceof Error && error.name, 'MembershipLost');
      await a!.permissionRequests.add(asked('per_3'), () => {});
    }),
  );

  check('are kept as decided if they are withdrawn', () =>
    withPeers(database, 1, async ([a]) => {
      const { permissionRequests: board } = a!;
      const outcomes: PermissionOutcome[] = [];
      for (const id of ['per_1', 'per_2']) await board.add(asked(id), (outcome) => void outcomes.push(outcome));
      await board.answer(decisionAbout(asked('per_1'), { reply: 'once', by: 'ana' }, 5));
      await board.withdraw(decisionAbout(asked('per_1'), { reply: 'cancelled' }, 6));
      await board.withdraw(decisionAbout(asked('per_2'), { reply: 'cancelled' }, 6));
      assert.equal(outcomes, [{ reply: 'once' }]);
      assert.equal(
        (await a!.store.decisions({ limit: 10 })).map(({ id, reply, by }) => [id, reply, by]),
        [
          ['per_2', 'cancelled', undefined],
          ['per_1', 'once', 'ana'],
        ],
      );
    }),
  );

  check('let no call run while the decision cannot be kept', () =>
    withPeers(database, 2, async ([a, b], { root }) => {
      listenAll([a!, b!]);
      const outcomes: PermissionOutcome[] = [];
      await a!.permissionRequests.add(asked('per_1'), (outcome) => void outcomes.push(outcome));
      await root`ALTER TABLE decision RENAME TO away`;
      const failed = await rejection(
        b!.permissionRequests.answer(decisionAbout(asked('per_1'), { reply: 'always', by: 'ana' }, 5)),
      );
      assert.instance(failed, Error);
      await sleep(400);
      assert.equal([outcomes, await b!.permissionRequests.standing(5)], [[], []]);
      await root`ALTER TABLE away RENAME TO decision`;
      assert.ok(await b!.permissionRequests.answer(decisionAbout(asked('per_1'), { reply: 'once', by: 'ana' }, 5)));
      await until('it is told', () => outcomes.length === 1);
    }),
  );

  check('are kept as decisions, the newest so many and no more', () =>
    withPeers(database, 1, async ([a], { root }) => {
      const fill = (isAsked: boolean, count: number) => root`
        INSERT INTO decision (id, is_asked, place, data) SELECT 'x' || ${String(isAsked)} || n, ${isAsked}, n + 1, '{"id":"x"}'
        FROM generate_series(1, ${count}::integer) AS n`;
      const idsOf = async (isAsked: boolean) =>
        (await root`SELECT id FROM decision WHERE is_asked = ${isAsked} ORDER BY seq`).map(({ id }) => id);
      await a!.store.recordDecision(decisionAbout(asked('per_1'), { reply: 'once' }, 5));
      const { asked: _, ...use } = decisionAbout(asked('per_2'), { reply: 'always', through: 'per_x' }, 5);
      await a!.store.recordDecision(use);
      await fill(false, DECISIONS_KEPT - 1);
      // Calls under standing rules age out one another, and no decision of a person.
      await a!.store.recordDecision({ ...use, id: 'per_3' });
      const uses = await idsOf(false);
      assert.equal([uses.length, uses[0], uses.at(-1)], [DECISIONS_KEPT, 'xfalse1', 'per_3']);
      assert.equal(
        (await a!.store.decisions({ limit: 10, isAsked: true })).map(({ id }) => id),
        ['per_1'],
      );
      assert.equal(
        (await a!.store.decisions({ limit: 10, isAsked: true, beforeID: 'per_3' })).map(({ id }) => id),
        ['per_1'],
      );
      await fill(true, DECISIONS_KEPT - 1);
      await a!.store.recordDecision(decisionAbout(asked('per_4'), { reply: 'once' }, 5));
      const people = await idsOf(true);
      assert.equal([people.length, people[0], people.at(-1)], [DECISIONS_KEPT, 'xtrue1', 'per_4']);
      assert.is((await idsOf(false)).length, DECISIONS_KEPT);
    }),
  );

  check('that the database cannot know are reported to be none', () =>
    withPeers(database, 1, async ([a]) => {
      for (const requestID of ['per_\0', 'per_\ud800', '', 'x'.repeat(20_000)])
        assert.is(await a!.permissionRequests.answer(decisionAbout(asked(requestID), { reply: 'once' }, 5)), false);
    }),
  );
});

describe('texts that PostgreSQL cannot hold', (check) => {
  const ODD = 'a\0b \ud800 \udc00 \u{1f600} "\\u0000"';
  check.thorough('come back as they were, and are looked for without an error', () =>
    withPeers(database, 2, async ([a, b]) => {
      const session = sessionOf('ses_1', { title: ODD, directory: ODD, metadata: { [ODD]: ODD } });
      const message = { id: ODD, text: ODD };
      await a!.store.commit(
        [{ kind: 'session', session }],
        [{ directory: ODD, draft: { type: 'session.updated', properties: { sessionID: 'ses_1', info: session } } }],
      );
      assert.equal(await b!.store.session('ses_1'), session);
      assert.equal(await b!.store.sessions({ directory: ODD }), [session]);
      assert.equal(await b!.store.sessions({ search: ODD }), [session]);
      assert.equal(await b!.store.sessions({ parentID: ODD }), []);
      assert.is((await b!.store.events({ afterID: '', directory: ODD, limit: 5 })).length, 1);
      assert.equal(await b!.store.events({ afterID: `z${ODD}`, limit: 5 }), []);
      assert.is(await b!.store.session(ODD), undefined);
      assert.equal(await b!.store.messages(ODD, { beforeID: ODD }), []);
      assert.equal(await b!.store.messageOutlines(ODD, { beforeID: ODD }), []);
      assert.is(await b!.store.message(ODD, message.id), undefined);
      assert.is(await b!.store.output(ODD, ODD), undefined);
    }),
  );

  check('as an id fail the one commit that they are in', () =>
    withPeers(database, 1, async ([a]) => {
      const outcomes = await Promise.allSettled([
        a!.report('before'),
        a!.report('odd', [{ kind: 'session', session: sessionOf('ses_\0') }]),
        a!.report('long', [
          { kind: 'session', session: sessionOf(`ses_${crypto.getRandomValues(new Uint8Array(9000)).join('')}`) },
        ]),
        a!.report('after'),
      ]);
      assert.equal(
        outcomes.map(({ status }) => status),
        ['fulfilled', 'rejected', 'rejected', 'fulfilled'],
      );
      assert.equal(await textsIn(a!.store), ['before', 'after']);
    }),
  );

  check.thorough('are none that is merely long: 60 MB go in and out, and meanwhile no one is taken for dead', () =>
    withPeers(database, 2, async ([a, b]) => {
      listenAll([a!, b!]);
      const seats = [a!.membership.serverID(), b!.membership.serverID()];
      const title = '0123456789'.repeat(6_000_000);
      const startedAt = performance.now();
      await a!.store.commit([{ kind: 'session', session: sessionOf('ses_1', { metadata: { title } }) }], []);
      console.log(`figure: 60 MB were kept in ${Math.round(performance.now() - startedAt)} ms`);
      assert.is((await b!.store.session('ses_1'))?.metadata?.title, title);
      assert.equal([a!.membership.serverID(), b!.membership.serverID()], seats);
    }),
  );
});

atEnd(database.stop);
