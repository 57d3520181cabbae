import { setTimeout as sleep } from 'node:timers/promises';
import * as assert from 'uvu/assert';
import { StoreUnavailableError } from '../../../../src/agent/store/errors.ts';
import { atEnd, describe, rejection } from '../../../check.ts';
import { createAgentWorld, prompt } from '../../harness/world.ts';
import { sessionOf } from '../../store/samples.ts';
import { openPeer, startWire, withPeers } from './cluster-world.ts';
import { startPostgres } from './world.ts';

const database = await startPostgres();
const WAIT = { awayLimitMs: 300, times: { beatMs: 150, aliveMs: 30_000 } };

type Peer = Awaited<ReturnType<typeof openPeer>>;
/** A server whose connections a test may cut, beside one that nothing disturbs. */
const withWire = (body: (peer: Peer, wire: Awaited<ReturnType<typeof startWire>>, other: Peer) => Promise<void>) =>
  withPeers(database, 1, async ([other], { schema }) => {
    const wire = await startWire(database.port);
    const peer = await openPeer(wire.urlOf(database.url), schema, WAIT);
    try {
      await body(peer, wire, other!);
    } finally {
      await wire.stop();
      await peer.vanish();
    }
  });
/** Cuts the connection at each answer to a commit: it is stored then. */
const cutAnswers = ({ cutAt }: Awaited<ReturnType<typeof startWire>>): void =>
  cutAt((answer) => answer.includes('"number" :'));
const troubleOf = async (work: Promise<unknown>): Promise<string> => {
  const error = await rejection(work);
  assert.instance(error, StoreUnavailableError);
  return (error as StoreUnavailableError).trouble;
};

describe('a commit to which the database never answers', (check) => {
  check('fails as one that may be stored, and one that could not be sent as one that is not', () =>
    withWire(async (peer, wire, other) => {
      cutAnswers(wire);
      const commit = (id: string) => peer.store.commit([{ kind: 'session', session: sessionOf(id) }], []);
      assert.is(await troubleOf(commit('ses_1')), 'unanswered');
      assert.ok(await other.store.session('ses_1'));
      await wire.stop();
      await sleep(100);
      assert.is(await troubleOf(commit('ses_2')), 'unreachable');
      assert.is(await other.store.session('ses_2'), undefined);
    }),
  );

  check('of a prompt is a 504 that asks nobody to send it again: another server would store it a second time', () =>
    withWire(async ({ store }, wire, other) => {
      const world = await createAgentWorld({ store });
      const id = await world.session();
      cutAnswers(wire);
      const response = await world.call('POST', `/session/${id}/message`, { ...prompt('pay 5'), noReply: true });
      assert.equal([response.status, response.headers.get('retry-after')], [504, null]);
      assert.is((await response.json()).data.code, 'store_unanswered');
      assert.is((await other.store.messages(id)).length, 1);
    }),
  );
});

atEnd(database.stop);
