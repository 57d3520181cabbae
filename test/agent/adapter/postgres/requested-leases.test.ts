import { setTimeout as sleep } from 'node:timers/promises';
import postgres, { type Sql } from 'postgres';
import * as assert from 'uvu/assert';
import type { StoreChange } from '../../../../src/agent/store/store.ts';
import { atEnd, describe, rejection } from '../../../check.ts';
import { hanging, prompt } from '../../harness/world.ts';
import { answer, sessionOf, userMessage } from '../../store/samples.ts';
import { openPeer, type Peer, startWire, until, withPeers } from './cluster-world.ts';
import { startReplica } from './replicas.ts';
import { dropSchema, startPostgres } from './world.ts';

const database = await startPostgres();

const ID = 'ses_1';
const PROMPT = 'msg_1';
const asked = { sessionID: ID, promptID: PROMPT };
/** What an accepted prompt stores. */
const prompted: readonly StoreChange[] = [
  { kind: 'session', session: sessionOf(ID) },
  { kind: 'message', message: userMessage(PROMPT, ID) },
  { kind: 'answer', sessionID: ID, promptID: PROMPT, state: 'owed' },
];
const accept = ({ store, leases }: Peer, changes = prompted) =>
  leases.whileRequested(asked, (request) => store.commit(changes, [], undefined, request));
const ticketsIn = async (root: Sql): Promise<readonly string[]> =>
  (await root`SELECT seq::text FROM ticket ORDER BY seq`).map(({ seq }) => String(seq));

describe('the lease that the commit of a prompt asks for', (check) => {
  check('is taken with it: the run of the prompt has it, and knows that the session is untouched', () =>
    withPeers(database, 2, async ([a, b], { root }) => {
      await accept(a!);
      const [seq, ...more] = await ticketsIn(root);
      assert.equal(more, []);
      const lease = await a!.leases.acquire(ID, () => {});
      assert.equal([lease.id, lease.untouchedSince], [seq, PROMPT]);
      const other = b!.leases.acquire(ID, () => {});
      await until('the other one waits', async () => (await ticketsIn(root)).length === 2);
      assert.ok(await lease.isAwaited());
      await lease.release();
      const next = await other;
      assert.is(next.untouchedSince, undefined);
      await next.release();
      assert.equal(await ticketsIn(root), []);
    }),
  );

  check('waits behind another server, and for what was left in the session nobody calls it untouched', () =>
    withPeers(database, 2, async ([a, b]) => {
      await a!.store.commit(prompted.slice(0, 1), []);
      const held = await b!.leases.acquire(ID, () => {});
      await accept(a!);
      let isHere = false;
      const waiting = a!.leases
        .acquire(ID, () => {})
        .finally(() => {
          isHere = true;
        });
      await sleep(30);
      assert.not.ok(isHere);
      await held.release();
      const second = await waiting;
      assert.is(second.untouchedSince, undefined);
      await second.release();
      await a!.store.commit([{ kind: 'answer', sessionID: ID, promptID: PROMPT, state: 'begun' }], []);
      await accept(a!, [{ kind: 'message', message: answer('msg_2', ID) }]);
      const third = await a!.leases.acquire(ID, () => {});
      assert.is(third.untouchedSince, undefined);
      await third.release();
    }),
  );

  check('is taken once: who asks meanwhile, and who acquires it while the commit is under way, gets that one', () =>
    withPeers(database, 1, async ([a], { root }) => {
      await a!.store.commit(prompted.slice(0, 1), []);
      const both = Promise.all([accept(a!), accept(a!)]);
      const lease = await a!.leases.acquire(ID, () => {});
      await both;
      assert.equal(await ticketsIn(root), [lease.id]);
      await lease.release();
    }),
  );

  check(
    'is not asked for while a run takes its ticket: it could be the older one, and its own run behind that other',
    () =>
      withPeers(database, 1, async ([a], { root }) => {
        await a!.store.commit(prompted.slice(0, 1), []);
        const { acquired, accepted } = await root.begin(async (sql) => {
          await sql`SELECT pg_advisory_xact_lock(hashtextextended(${ID}, 0))`;
          const acquired = a!.leases.acquire(ID, () => {});
          return { acquired, accepted: accept(a!) };
        });
        const lease = await acquired;
        await accepted;
        assert.equal(await ticketsIn(root), [lease.id]);
        await lease.release();
      }),
  );

  check('is given back when the prompt is refused, before it is stored or after', () =>
    withPeers(database, 1, async ([a], { root }) => {
      await rejection(accept(a!, prompted.slice(2)));
      assert.equal(await ticketsIn(root), []);
      const late = a!.leases.whileRequested(asked, async (request) => {
        await a!.store.commit(prompted, [], undefined, request);
        throw new Error('The session is being removed');
      });
      assert.match(String(await rejection(late)), 'being removed');
      await until('the ticket is gone', async () => (await ticketsIn(root)).length === 0);
      const lease = await a!.leases.acquire(ID, () => {});
      assert.is(lease.untouchedSince, undefined);
      await lease.release();
    }),
  );

  check('is lost with the membership of the server: it queues again', () =>
    withPeers(database, 1, async ([a], { root }) => {
      await accept(a!);
      await root`DELETE FROM server`;
      await rejection(a!.report('too late'));
      const lease = await a!.leases.acquire(ID, () => {});
      assert.is(lease.untouchedSince, undefined);
      assert.equal(await ticketsIn(root), [lease.id]);
      await lease.release();
    }),
  );

  check('holds up nobody when the answer to the commit never came', () =>
    withPeers(database, 1, async ([other], { schema, root }) => {
      const wire = await startWire(database.port);
      const times = { beatMs: 150, aliveMs: 30_000 };
      const peer = await openPeer(wire.urlOf(database.url), schema, { awayLimitMs: 300, times });
      try {
        wire.cutAt((answer) => answer.includes('"number" :'));
        await rejection(accept(peer));
        assert.is((await ticketsIn(root)).length, 1);
        wire.cutAt(() => false);
        peer.listen();
        const lease = await other!.leases.acquire(ID, () => {});
        await lease.release();
      } finally {
        await wire.stop();
        await peer.vanish();
      }
    }),
  );

  check('that nobody knows of is deleted however many prompts of other sessions are under way', () =>
    withPeers(database, 2, async ([a, b], { root }) => {
      a!.listen();
      const over = Promise.withResolvers<void>();
      const busy = a!.leases.whileRequested({ sessionID: 'ses_2', promptID: PROMPT }, () => over.promise);
      await root`INSERT INTO ticket (session_id, server_id) VALUES (${ID}, ${a!.membership.serverID()})`;
      const lease = await b!.leases.acquire(ID, () => {});
      over.resolve();
      await busy;
      await lease.release();
    }),
  );

  check('is that of the run which answers the prompt: no other ticket is taken for it', async () => {
    const schema = database.freshSchema();
    const server = await startReplica(database, schema, { scripts: [hanging] });
    const root = postgres(database.url, { max: 1, connection: { search_path: schema }, onnotice() {} });
    try {
      const id = await server.session();
      const answered = server.whole('POST', `/session/${id}/message`, prompt('wait'));
      await until('it is answered', async () => (await server.store.unfinished()).length === 1);
      const rows = await root`
        SELECT ticket.xmin = message.xmin AS is_one_commit FROM ticket JOIN message USING (session_id)
        WHERE NOT EXISTS (SELECT 1 FROM part WHERE part.message_id = message.id AND position('step-start' IN data) > 0)`;
      assert.equal([...rows], [{ is_one_commit: true }]);
      await server.whole('POST', `/session/${id}/abort`);
      assert.is(JSON.parse((await answered).text).info.error.name, 'MessageAbortedError');
      await until('the ticket is given back', async () => (await ticketsIn(root)).length === 0);
    } finally {
      await server.leave();
      await root.end({ timeout: 1 });
      await dropSchema(database, schema);
    }
  });
});

atEnd(database.stop);
