import * as assert from 'uvu/assert';
import { createPublisher } from '../../../src/agent/events/publisher.ts';
import { createFamilyRemoval, groupFamilies } from '../../../src/agent/session/retention.ts';

import type { Store } from '../../../src/agent/store/store.ts';
import { describe } from '../../check.ts';
import { createFakeClock } from '../../fake-clock.ts';
import { createMemoryStore } from '../store/memory-store.ts';
import { answer, idsFrom, sessionOf, userMessage } from '../store/samples.ts';

const ROOT = sessionOf('ses_a');
const CHILD = sessionOf('ses_b', { parentID: 'ses_a' });
const GRANDCHILD = sessionOf('ses_c', { parentID: 'ses_b' });
const NOW = ROOT.time.updated + 3_600_000;

type Given = {
  /** Happens once, right before the store is asked or told something for the so-manieth time. */
  readonly meanwhile?: { readonly call: number; readonly act: (store: Store) => Promise<unknown> };
  readonly busy?: readonly string[];
  readonly now?: number;
};

/** A family of three, and an attempt to remove it as it was found. */
const removing = async ({ meanwhile, busy = [], now = NOW }: Given = {}) => {
  const held = createMemoryStore({ ids: idsFrom() });
  await held.commit(
    [ROOT, CHILD, GRANDCHILD].map((session) => ({ kind: 'session', session })),
    [],
  );
  const [family] = groupFamilies(await held.sessionOutlines());
  if (family === undefined) throw new Error('no family');
  let calls = 0;
  const watched = <Arguments extends readonly unknown[], T>(method: (...given: Arguments) => Promise<T>) => {
    return async (...given: Arguments): Promise<T> => {
      calls += 1;
      if (calls === meanwhile?.call) await meanwhile.act(held);
      return method(...given);
    };
  };
  const store: Store = {
    ...held,
    session: watched(held.session),
    sessions: watched(held.sessions),
    unfinished: watched(held.unfinished),
    commit: watched(held.commit),
  };
  const removal = createFamilyRemoval({
    store,
    publish: createPublisher(store).publish,
    busy: async (ids) => ids.filter((id) => busy.includes(id)),
    clock: createFakeClock(now),
  });
  const isGone = await removal.remove(family);
  const reported = (await held.events({ afterID: '', limit: 9 })).map(({ event }) => event);
  const left = (await held.sessions({})).map(({ id }) => id);
  return { isGone, left, reported, calls, isAtWork: await removal.isBusy(family), held };
};

describe('a family that is removed', (check) => {
  check('is removed as one, from the bottom up, and reported to listeners like a deleted session', async () => {
    const { isGone, left, reported } = await removing();
    assert.equal([isGone, left], [true, []]);
    assert.equal(
      reported.map(({ type, properties }) => [type, properties]),
      [GRANDCHILD, CHILD, ROOT].map((info) => ['session.deleted', { sessionID: info.id, info }]),
    );
  });

  check('stays whole whatever prompt comes in between, and whenever', async () => {
    const { calls } = await removing();
    for (const before of [ROOT, CHILD, GRANDCHILD]) {
      for (let call = 1; call <= calls; call++) {
        const session = { ...before, time: { ...before.time, updated: NOW } };
        const act = (store: Store) =>
          store.commit(
            [
              { kind: 'session', session, before },
              { kind: 'message', message: userMessage('msg_1', before.id) },
            ],
            [],
          );
        const { isGone, left, reported } = await removing({ meanwhile: { call, act } });
        assert.equal(
          [isGone, [...left].sort(), reported],
          [false, ['ses_a', 'ses_b', 'ses_c'], []],
          `${before.id} ${call}`,
        );
      }
    }
  });

  check('stays whole when a session joins it before the end', async () => {
    const act = (store: Store) =>
      store.commit([{ kind: 'session', session: sessionOf('ses_d', { parentID: 'ses_c' }) }], []);
    for (const call of [1, 2, 3, 4, 5, 6, 7]) {
      const { isGone, left } = await removing({ meanwhile: { call, act } });
      assert.equal([isGone, left.length], [false, 4], String(call));
    }
  });

  check('is left to anyone else who removes it first', async () => {
    const act = (store: Store) =>
      store.commit(
        ['ses_a', 'ses_b', 'ses_c'].map((sessionID) => ({ kind: 'session-removed', sessionID })),
        [],
      );
    const { calls } = await removing();
    for (let call = 1; call <= calls; call++) {
      const { isGone, reported } = await removing({ meanwhile: { call, act } });
      assert.equal([isGone, reported], [false, []], String(call));
    }
  });

  check('stays while something runs or waits in it, here or at another server', async () => {
    for (const id of ['ses_a', 'ses_c']) {
      const { isGone, left, isAtWork } = await removing({ busy: [id] });
      assert.equal([isGone, left.length, isAtWork], [false, 3, true]);
    }
    assert.is((await removing({ busy: ['ses_z'] })).isGone, true);
  });

  check('stays while an answer in it is not finished, and does not for one elsewhere', async () => {
    const message = answer('msg_2', 'ses_c');
    const begin = (store: Store) => store.commit([{ kind: 'message', message }], []);
    const { isGone, left, isAtWork } = await removing({ meanwhile: { call: 1, act: begin } });
    assert.equal([isGone, left.length, isAtWork], [false, 3, true]);
    const elsewhere = (store: Store) =>
      store.commit(
        [
          { kind: 'session', session: sessionOf('ses_z') },
          { kind: 'message', message: answer('msg_3', 'ses_z') },
        ],
        [],
      );
    assert.is((await removing({ meanwhile: { call: 1, act: elsewhere } })).isGone, true);
  });

  check('stays for a moment after a prompt: its answer may not have begun', async () => {
    const at = (now: number) => removing({ now: ROOT.time.updated + now });
    assert.is((await at(10_000)).isGone, false);
    assert.is((await at(10_000)).isAtWork, true);
    assert.is((await at(15_000)).isGone, true);
  });
});
