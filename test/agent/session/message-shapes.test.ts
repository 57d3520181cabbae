import * as assert from 'uvu/assert';
import { createIds } from '../../../src/agent/protocol/ids.ts';
import { readMessageShapes } from '../../../src/agent/session/message-shapes.ts';
import type { MessageQuery, MessageWithParts, Store } from '../../../src/agent/store/store.ts';
import { describe } from '../../check.ts';
import { createFakeClock } from '../../fake-clock.ts';
import { messagesOf } from '../harness/permission-requests.ts';
import { createAgentWorld, prompt } from '../harness/world.ts';
import { createMemoryStore } from '../store/memory-store.ts';
import { answer, sessionOf, textPart, userMessage } from '../store/samples.ts';

const MIB = 1024 * 1024;
const PAGE_BYTES = 4 * MIB;
const SESSION = 'ses_000000000000aaaaaaaaaaaaaa';
const idOf = (kind: 'msg' | 'prt', at: number): string => `${kind}_${String(at).padStart(12, '0')}aaaaaaaaaaaaaa`;
const bytesOf = (messages: readonly MessageWithParts[]): number => JSON.stringify(messages).length;

/** A session of prompts and answers with texts of these sizes, in a store that notes how much each read of messages returned. */
const storeWith = async (sizes: readonly number[], onRead: (store: Store) => Promise<unknown> = async () => {}) => {
  const ids = createIds(createFakeClock(), (count) => crypto.getRandomValues(new Uint8Array(count)));
  const store = createMemoryStore({ ids });
  const reads: number[] = [];
  const add = (at: number, size: number): Promise<unknown> => {
    const model = { providerID: 'demo', modelID: 'main' };
    const time = { created: 1, completed: 2 };
    const message =
      at % 2 === 1
        ? { ...userMessage(idOf('msg', at), SESSION), model }
        : answer(idOf('msg', at), SESSION, { parentID: idOf('msg', at - 1), time });
    const part = textPart({ id: idOf('prt', at), messageID: message.id, sessionID: SESSION }, 'x'.repeat(size));
    return store.commit(
      [
        { kind: 'message', message },
        { kind: 'part', part },
      ],
      [],
    );
  };
  await store.commit([{ kind: 'session', session: sessionOf(SESSION, { title: 'Mine' }) }], []);
  for (const [index, size] of sizes.entries()) await add(index + 1, size);
  const messages = async (sessionID: string, asked?: MessageQuery): Promise<readonly MessageWithParts[]> => {
    const found = await store.messages(sessionID, asked);
    reads.push(bytesOf(found));
    await onRead(store);
    return found;
  };
  return { store: { ...store, messages }, reads, add };
};
const shapesIn = (messages: readonly MessageWithParts[]) =>
  messages.map(({ info, parts }) => ({
    info,
    parts: parts.map(({ id, type, messageID }) => ({ id, type, messageID })),
  }));

describe('the messages of a session without what they hold', (check) => {
  for (const [name, sizes] of Object.entries({
    none: [],
    'one that is larger than a page': [6 * MIB],
    'small ones': Array(30).fill(10),
    'large and small ones': [10, 3 * MIB, 10, 5 * MIB, 10, 10, 2 * MIB, 2 * MIB, 2 * MIB, 10],
  }))
    check(`are all of them in their order: ${name}`, async () => {
      const { store, reads } = await storeWith(sizes);
      const shapes = await readMessageShapes(store, SESSION);
      const largest = Math.max(PAGE_BYTES, ...sizes);
      assert.ok(
        reads.every((bytes) => bytes < largest + MIB),
        String(reads),
      );
      assert.equal(shapes, shapesIn(await store.messages(SESSION)));
    });

  check('are those that there were, though more come while they are read', async () => {
    let count = 10;
    const world = await storeWith(Array(count).fill(MIB), async () => {
      count += 1;
      await world.add(count, 10);
    });
    const shapes = await readMessageShapes(world.store, SESSION);
    assert.equal(
      shapes.map(({ info }) => info.id),
      Array.from({ length: 10 }, (_, index) => idOf('msg', index + 1)),
    );
  });

  check('are what a fork, a revert and the prompt after it read, and no more at a time than a page', async () => {
    const { store, reads } = await storeWith(Array(20).fill(MIB));
    const world = await createAgentWorld({ store, titler: null });
    const text = async (id: string): Promise<number> => bytesOf(await messagesOf(world, id));
    const forked = (await world.post(`/session/${SESSION}/fork`, {})) as { id: string };
    await world.post(`/session/${SESSION}/revert`, { messageID: idOf('msg', 11) });
    await world.post(`/session/${SESSION}/message`, { ...prompt('on'), noReply: true });
    assert.ok(reads.length > 0 && reads.every((bytes) => bytes < PAGE_BYTES + MIB), String(reads));
    assert.ok((await text(forked.id)) > 20 * MIB);
    assert.is((await messagesOf(world, SESSION)).length, 11);
  });
});
