import * as assert from 'uvu/assert';
import { jsonChunksResponse } from '../../../src/agent/http/messages.ts';
import type { Store } from '../../../src/agent/store/store.ts';
import { describe, rejection } from '../../check.ts';
import { createAgentWorld } from '../harness/world.ts';
import { createMemoryStore } from '../store/memory-store.ts';
import { idsFrom, sessionOf, textPart, userMessage } from '../store/samples.ts';

const LONG = 'x'.repeat(200_000);

/** A world whose session has so many messages, each with a long text. */
const worldWith = async (count: number, change: (store: Store) => Store = (store) => store) => {
  const store = createMemoryStore({ ids: idsFrom() });
  await store.commit([{ kind: 'session', session: sessionOf('ses_1') }], []);
  for (let index = 0; index < count; index++) {
    const id = `msg_${String(index).padStart(3, '0')}`;
    const part = textPart({ id: `prt_${index}`, messageID: id, sessionID: 'ses_1' }, `${index} ${LONG}`);
    await store.commit(
      [
        { kind: 'message', message: userMessage(id, 'ses_1') },
        { kind: 'part', part },
      ],
      [],
    );
  }
  return createAgentWorld({ store: change(store) });
};

describe('the messages of a session', (check) => {
  check('are the same as the store has, however many they are', async () => {
    for (const count of [0, 1, 2, 3, 20]) {
      const world = await worldWith(count);
      const response = await world.call('GET', '/session/ses_1/message');
      assert.is(response.headers.get('content-type'), 'application/json');
      assert.equal(await response.json(), await world.store.messages('ses_1'));
      const narrow = await world.get('/session/ses_1/message?limit=2&before=msg_001').catch(() => 'none');
      assert.equal(narrow, count < 2 ? 'none' : await world.store.messages('ses_1', { limit: 2, beforeID: 'msg_001' }));
    }
  });

  check('are read as the client takes them, and no further when it leaves', async () => {
    let reads = 0;
    const world = await worldWith(40, (store) => ({
      ...store,
      messages: () => Promise.reject(new Error('all at once')),
      message: (...asked) => {
        reads += 1;
        return store.message(...asked);
      },
    }));
    const response = await world.call('GET', '/session/ses_1/message');
    const reader = response.body?.getReader();
    await reader?.read();
    await reader?.read();
    await reader?.cancel();
    assert.ok(reads < 12, `${reads} of 40 were read`);
    await world.call('HEAD', '/session/ses_1/message');
    assert.ok(reads < 24, `${reads} were read`);
  });

  check('are no more made once the client has left', async () => {
    let isOver = false;
    const pieces = async function* () {
      try {
        for (;;) yield 'x';
      } finally {
        isOver = true;
      }
    };
    const response = await jsonChunksResponse(pieces(), () => {});
    await response.body?.cancel();
    assert.ok(isOver);
  });

  check('leave out what is gone by the time it is asked for', async () => {
    const world = await worldWith(9, (store) => ({
      ...store,
      message: async (sessionID, id) => (id === 'msg_000' || id > 'msg_005' ? undefined : store.message(sessionID, id)),
    }));
    const found = (await world.get('/session/ses_1/message')) as readonly { readonly info: { readonly id: string } }[];
    assert.equal(
      found.map(({ info }) => info.id),
      ['msg_001', 'msg_002', 'msg_003', 'msg_004', 'msg_005'],
    );
  });

  check('are an error when the store fails at once, and break off when it fails later', async () => {
    const failing = (failsAt: number) =>
      worldWith(20, (store) => ({
        ...store,
        message: async (sessionID, id) => {
          if (id === `msg_${String(failsAt).padStart(3, '0')}`) throw new RangeError('secret');
          return store.message(sessionID, id);
        },
      }));
    const [soon, late] = [await failing(0), await failing(15)];
    const response = await soon.call('GET', '/session/ses_1/message');
    assert.is(response.status, 500);
    assert.not.match(await response.text(), 'secret');
    const cut = await late.call('GET', '/session/ses_1/message');
    assert.is(cut.status, 200);
    await rejection(cut.text());
    for (const { logged } of [soon, late]) {
      assert.ok(logged.some((line) => line.includes('RangeError') && !line.includes('secret')));
    }
  });
});
