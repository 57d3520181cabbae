import * as assert from 'uvu/assert';
import type { Conversation, Turn } from '../../../../src/agent/protocol/turns.ts';
import { StaleTurnError } from '../../../../src/agent/store/errors.ts';
import type { Store, StoreChange } from '../../../../src/agent/store/store.ts';
import { type Check, rejection } from '../../../check.ts';
import { sessionOf } from '../samples.ts';
import type { StorePlaces } from './places.ts';

const conversationOf = (id: string, more: Partial<Conversation> = {}): Conversation => ({
  id,
  owner: 'ann',
  sessionID: 'ses_1',
  isOfClient: false,
  metadata: {},
  createdMs: 1,
  ...more,
});
const turnOf = (id: string, more: Partial<Turn> = {}): Turn => ({
  id,
  owner: 'ann',
  conversationID: 'cnv_1',
  sessionID: 'ses_1',
  promptID: 'msg_1',
  from: 0,
  messageIDs: ['msg_1'],
  callIDs: [],
  abortAfterMs: 10_000,
  isStored: true,
  metadata: { text: 'a \0 and \ud800 in it' },
  readers: [],
  joins: 0,
  createdMs: 1,
  ...more,
});
const conversation = (one: Conversation, before?: Conversation): StoreChange => ({
  kind: 'conversation',
  conversation: one,
  before,
});
const turn = (one: Turn, before?: Turn): StoreChange => ({ kind: 'turn', turn: one, before });
const chain = ({ owner, id, sessionID, promptID }: Turn, digest: string): StoreChange => ({
  kind: 'chain',
  owner,
  end: { digest, sessionID, turnID: id, promptID },
});
const endOf = ({ id, sessionID, promptID }: Turn, digest: string) => ({ digest, sessionID, turnID: id, promptID });

const BEGUN: readonly StoreChange[] = [
  { kind: 'session', session: sessionOf('ses_1') },
  { kind: 'session', session: sessionOf('ses_2') },
  conversation(conversationOf('cnv_1', { name: 'first' })),
];
const isStale = async (store: Store, ...changes: readonly StoreChange[]): Promise<void> =>
  assert.instance(await rejection(store.commit(changes, [])), StaleTurnError);
const ids = (turns: readonly Turn[]): readonly string[] => turns.map(({ id }) => id);

/** What every store promises about turns and conversations. */
export const checkTurns = (check: Check, { withStore }: StorePlaces): void => {
  check('turns: are found by id, key, digest, conversation and prompt, and by their owner alone', () =>
    withStore(async (store) => {
      const first = turnOf('trn_1', { key: 'a key', digest: 'd1' });
      const second = turnOf('trn_2', { digest: 'd1', promptID: 'msg_2' });
      const third = turnOf('trn_3', { digest: 'd2' });
      await store.commit([...BEGUN, turn(first), turn(second), turn(third)], []);
      assert.equal(await store.turns.turn('ann', 'trn_1'), first);
      assert.equal(await store.turns.byKey('ann', 'a key'), first);
      assert.equal(await store.turns.byDigest('ann', 'd1', 10), [second, first]);
      assert.equal(await store.turns.byDigest('ann', 'd1', 1), [second]);
      assert.equal(ids(await store.turns.ofConversation('ann', 'cnv_1', { limit: 2 })), ['trn_3', 'trn_2']);
      assert.equal(ids(await store.turns.ofConversation('ann', 'cnv_1', { limit: 2, beforeID: 'trn_2' })), ['trn_1']);
      assert.equal(ids(await store.turns.ofPrompt('ses_1', 'msg_1')), ['trn_1', 'trn_3']);
      assert.is(await store.turns.turn('bob', 'trn_1'), undefined);
      assert.is(await store.turns.byKey('bob', 'a key'), undefined);
      assert.equal(await store.turns.byDigest('bob', 'd1', 10), []);
      assert.equal(await store.turns.ofConversation('bob', 'cnv_1', { limit: 2 }), []);
    }),
  );

  check('turns: a key belongs to one turn of an owner, and may go to another', () =>
    withStore(async (store) => {
      const keyed = turnOf('trn_1', { key: 'k' });
      await store.commit([...BEGUN, turn(keyed)], []);
      await isStale(store, turn(turnOf('trn_2', { key: 'k' })));
      assert.is(await store.turns.turn('ann', 'trn_2'), undefined);
      const bobs = conversationOf('cnv_2', { owner: 'bob' });
      const ofBob = turnOf('trn_3', { owner: 'bob', conversationID: 'cnv_2', key: 'k' });
      await store.commit([conversation(bobs), turn(ofBob)], []);
      const { key: _, ...without } = keyed;
      await store.commit([turn(without, keyed), turn(turnOf('trn_2', { key: 'k' }))], []);
      assert.is((await store.turns.byKey('ann', 'k'))?.id, 'trn_2');
      assert.is((await store.turns.byKey('bob', 'k'))?.id, 'trn_3');
    }),
  );

  check(
    'turns: one that was changed since it was read is not written over, and nothing else of the commit is stored',
    () =>
      withStore(async (store) => {
        const before = turnOf('trn_1');
        const joined = turnOf('trn_1', { joins: 1 });
        await store.commit([...BEGUN, turn(before)], []);
        await store.commit([turn(joined, before)], []);
        const other = { kind: 'session', session: sessionOf('ses_3') } as const;
        await isStale(store, other, turn(turnOf('trn_1', { joins: 5 }), before));
        await isStale(store, other, turn(before));
        await isStale(store, other, turn(turnOf('trn_9', { joins: 1 }), turnOf('trn_9')));
        assert.equal(await store.turns.turn('ann', 'trn_1'), joined);
        assert.is(await store.session('ses_3'), undefined);
      }),
  );

  check('turns: belong to a conversation and a session that are there', () =>
    withStore(async (store) => {
      await store.commit(BEGUN, []);
      await isStale(store, turn(turnOf('trn_1', { conversationID: 'cnv_9' })));
      await isStale(store, turn(turnOf('trn_1', { sessionID: 'ses_9' })));
      await isStale(store, conversation(conversationOf('cnv_2', { sessionID: 'ses_9' })));
    }),
  );

  check('turns: of two commits at once that begin one after the same turn, one is stored', () =>
    withStore(async (store) => {
      const before = conversationOf('cnv_1', { name: 'first' });
      await store.commit(BEGUN, []);
      const begin = (id: string) =>
        store
          .commit([conversation({ ...before, lastTurnID: id }, before), turn(turnOf(id))], [])
          .then(() => id)
          .catch((error: unknown) => {
            assert.instance(error, StaleTurnError);
            return undefined;
          });
      const begun = (await Promise.all(['trn_1', 'trn_2', 'trn_3'].map(begin))).filter((id) => id !== undefined);
      assert.is(begun.length, 1);
      assert.equal(ids(await store.turns.ofConversation('ann', 'cnv_1', { limit: 9 })), begun);
      assert.is((await store.turns.conversation('ann', 'cnv_1'))?.lastTurnID, begun[0]);
    }),
  );

  check('turns: a conversation has its name alone, is found by its owner, and may move to another session', () =>
    withStore(async (store) => {
      const first = conversationOf('cnv_1', { name: 'first' });
      await store.commit(BEGUN, []);
      await isStale(store, conversation(conversationOf('cnv_2', { name: 'first' })));
      await store.commit([conversation(conversationOf('cnv_2', { name: 'first', owner: 'bob' }))], []);
      assert.equal(await store.turns.conversationByName('ann', 'first'), first);
      assert.is((await store.turns.conversationByName('bob', 'first'))?.id, 'cnv_2');
      assert.is(await store.turns.conversation('bob', 'cnv_1'), undefined);
      const moved = { ...first, sessionID: 'ses_2' };
      await store.commit([conversation(moved, first)], []);
      await store.commit([{ kind: 'session-removed', sessionID: 'ses_1' }], []);
      assert.equal(await store.turns.conversation('ann', 'cnv_1'), moved);
      assert.is(await store.turns.conversation('bob', 'cnv_2'), undefined);
    }),
  );

  check('turns: go with their session, their conversation, or alone', () =>
    withStore(async (store) => {
      const elsewhere = turnOf('trn_2', { sessionID: 'ses_2' });
      await store.commit([...BEGUN, turn(turnOf('trn_1')), turn(elsewhere), turn(turnOf('trn_3'))], []);
      await store.commit([{ kind: 'turn-removed', turnID: 'trn_3' }], []);
      assert.equal(ids(await store.turns.ofConversation('ann', 'cnv_1', { limit: 9 })), ['trn_2', 'trn_1']);
      await store.commit([{ kind: 'session-removed', sessionID: 'ses_2' }], []);
      assert.equal(ids(await store.turns.ofConversation('ann', 'cnv_1', { limit: 9 })), ['trn_1']);
      await store.commit([{ kind: 'conversation-removed', conversationID: 'cnv_1' }], []);
      assert.is(await store.turns.turn('ann', 'trn_1'), undefined);
      assert.is((await store.session('ses_1'))?.id, 'ses_1');
    }),
  );

  check('turns: those with something due are listed, the longest due first', () =>
    withStore(async (store) => {
      const due = [turnOf('trn_1', { dueMs: 30 }), turnOf('trn_2', { dueMs: 10 }), turnOf('trn_3', { dueMs: 31 })];
      await store.commit([...BEGUN, ...due.map((one) => turn(one)), turn(turnOf('trn_4'))], []);
      assert.equal(ids(await store.turns.due(30, 9)), ['trn_2', 'trn_1']);
      assert.equal(ids(await store.turns.due(30, 1)), ['trn_2']);
      assert.equal(await store.turns.due(9, 9), []);
    }),
  );

  check('turns: the ends of histories are found by their digests, the two newest of each', () =>
    withStore(async (store) => {
      const [first, second, third] = [turnOf('trn_1'), turnOf('trn_2', { sessionID: 'ses_2' }), turnOf('trn_3')];
      const all = [first, second, third];
      await store.commit([...BEGUN, ...all.map((one) => turn(one)), ...all.map((one) => chain(one, 'aa'))], []);
      const found = await store.turns.chains('ann', ['zz', 'aa', 'aa']);
      assert.equal(new Set(found.map(({ turnID }) => turnID)), new Set(['trn_2', 'trn_3']));
      assert.equal(await store.turns.chains('bob', ['aa']), []);
      assert.equal(await store.turns.chains('ann', []), []);
      assert.equal(await store.turns.chainOf('trn_1'), endOf(first, 'aa'));
      await store.commit([chain(third, 'bb'), turn({ ...second, joins: 1 }, second)], []);
      assert.equal(await store.turns.chains('ann', ['bb']), [endOf(third, 'bb')]);
      assert.equal(await store.turns.chainOf('trn_2'), endOf(second, 'aa'));
      await store.commit([{ kind: 'session-removed', sessionID: 'ses_2' }], []);
      assert.equal(await store.turns.chains('ann', ['aa']), [endOf(first, 'aa')]);
      assert.is(await store.turns.chainOf('trn_9'), undefined);
      await store.commit([chain(turnOf('trn_9'), 'cc')], []);
      assert.equal(await store.turns.chains('ann', ['cc']), []);
    }),
  );
};
