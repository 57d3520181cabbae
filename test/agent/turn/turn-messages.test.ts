import fc from 'fast-check';
import * as assert from 'uvu/assert';
import { ModelError, type ModelRequest } from '../../../src/agent/model/types.ts';
import type { Message } from '../../../src/agent/protocol/types.ts';
import type { MessageWithParts, Store } from '../../../src/agent/store/store.ts';
import { SessionTooLarge } from '../../../src/agent/turn/errors.ts';
import { toModelHistory } from '../../../src/agent/turn/history.ts';
import { createTurnMessages } from '../../../src/agent/turn/turn-messages.ts';
import { createByteBudget } from '../../../src/core/byte-budget.ts';
import { describe, rejection, thorough } from '../../check.ts';
import { ask } from '../harness/permission-requests.ts';
import { calling, createAgentWorld, outcome, prompt, replying, type Script, toolNamed } from '../harness/world.ts';
import { createMemoryStore } from '../store/memory-store.ts';
import { answer, idsFrom, sessionOf, textPart, userMessage } from '../store/samples.ts';

const SESSION = 'ses_1';
const NEVER = new AbortController().signal;
const PROMPT = 'msg_9999';

/** A session with a prompt of each of these lengths, and the prompt that is answered, in a store that counts what it reads. */
const sessionWith = async (lengths: readonly number[]) => {
  const store = createMemoryStore({ ids: idsFrom() });
  await store.commit([{ kind: 'session', session: sessionOf(SESSION) }], []);
  const put = (info: Message, text: string): Promise<unknown> => {
    const part = textPart({ id: `prt_${info.id}`, messageID: info.id, sessionID: SESSION }, text);
    return store.commit(
      [
        { kind: 'message', message: info },
        { kind: 'part', part },
      ],
      [],
    );
  };
  for (const [place, length] of lengths.entries())
    await put(userMessage(`msg_${String(place).padStart(4, '0')}`, SESSION), 'x'.repeat(length));
  await put(userMessage(PROMPT, SESSION), 'go on');
  const read: string[] = [];
  const counting: Store = {
    ...store,
    async messages(...asked) {
      const found = await store.messages(...asked);
      read.push(...found.map(({ info }) => info.id));
      return found;
    },
  };
  return { store: counting, put, taken: (): readonly string[] => read.splice(0) };
};

const idsOf = (messages: readonly MessageWithParts[]): readonly string[] => messages.map(({ info }) => info.id);
const open = (id: string, more = {}) => answer(id, SESSION, { parentID: PROMPT, time: { created: 1 }, ...more });

describe('the messages of a turn', (check) => {
  const use = async (
    given: Pick<Awaited<ReturnType<typeof sessionWith>>, 'store'>,
    budget = createByteBudget(1_000_000),
  ) => {
    const messages = createTurnMessages({ store: given.store, budget }, { sessionID: SESSION, promptID: PROMPT });
    return { ...messages, budget, now: () => messages.use(NEVER, async (found) => found) };
  };

  check('are read once, and after that only those that are new, have changed or are not complete', async () => {
    const given = await sessionWith([10, 10, 10]);
    const { now } = await use(given);
    const all = ['msg_0000', 'msg_0001', 'msg_0002', PROMPT];
    assert.equal(idsOf(await now()), all);
    assert.equal(given.taken(), all);
    assert.equal(idsOf(await now()), all);
    assert.equal(given.taken(), []);

    await given.put(open('msg_a'), 'begun');
    await given.put(userMessage('msg_0001', SESSION), 'a longer text than before');
    assert.equal(idsOf(await now()), [...all, 'msg_a']);
    assert.equal(given.taken(), ['msg_0001', 'msg_a']);
    await given.put(open('msg_a', { time: { created: 1, completed: 2 } }), 'ended');
    const ended = await now();
    assert.equal(given.taken(), ['msg_a']);
    assert.equal(ended, await given.store.messages(SESSION));
    given.taken();
    await given.store.commit([{ kind: 'messages-removed', sessionID: SESSION, messageIDs: ['msg_0000'] }], []);
    assert.equal(idsOf(await now()), ['msg_0001', 'msg_0002', PROMPT, 'msg_a']);
    assert.equal(given.taken(), []);
  });

  check('of an answer that is not complete are read again also where its size is the same', async () => {
    const given = await sessionWith([]);
    const { now } = await use(given);
    await given.put(open('msg_a'), 'one');
    await now();
    await given.put(open('msg_a'), 'two');
    assert.equal(await now(), await given.store.messages(SESSION));
  });

  check('are read in groups of half a megabyte', async () => {
    const given = await sessionWith(Array(8).fill(200_000));
    let largest = 0;
    const store: Store = {
      ...given.store,
      async messages(...asked) {
        const found = await given.store.messages(...asked);
        largest = Math.max(largest, JSON.stringify(found).length);
        return found;
      },
    };
    const { now } = await use({ store }, createByteBudget(10_000_000));
    assert.is((await now()).length, 9);
    assert.ok(largest < 512 * 1024, String(largest));
  });

  check('that a summary has replaced are not read, and make no session too large', async () => {
    const given = await sessionWith(Array(300).fill(1000));
    const { now } = await use(given, createByteBudget(50_000));
    assert.ok((await rejection(now())) instanceof SessionTooLarge);
    await given.store.commit([{ kind: 'message', message: userMessage('msg_b', SESSION) }], []);
    const compaction = { id: 'prt_c', messageID: 'msg_b', sessionID: SESSION, type: 'compaction' as const };
    await given.store.commit([{ kind: 'part', part: { ...compaction, auto: false } }], []);
    const summary = answer('msg_c', SESSION, { parentID: 'msg_b', summary: true, time: { created: 1, completed: 2 } });
    await given.put(summary, 'in short');
    given.taken();
    const found = await now();
    assert.equal(given.taken(), [PROMPT, 'msg_b', 'msg_c']);
    const all = await given.store.messages(SESSION);
    assert.equal(toModelHistory(found, PROMPT, []), toModelHistory(all, PROMPT, []));
  });

  check('are kept between steps at three tenths of their bytes, until others need those or the turn ends', async () => {
    const given = await sessionWith([50_000]);
    const { now, budget, end } = await use(given, createByteBudget(100_000));
    await now();
    assert.ok(budget.usedBytes() > 15_000 && budget.usedBytes() < 16_000, String(budget.usedBytes()));
    given.taken();
    await now();
    assert.equal(given.taken(), []);
    const release = budget.tryTake(95_000);
    assert.is(budget.usedBytes(), 95_000);
    release?.();
    await now();
    assert.equal(given.taken(), ['msg_0000', PROMPT]);
    end();
    assert.is(budget.usedBytes(), 0);
  });

  check('are not kept where another turn waits for memory', async () => {
    const given = await sessionWith([50_000]);
    const { use: useMessages, budget, end } = await use(given, createByteBudget(100_000));
    let isIn = false;
    await useMessages(NEVER, async () => {
      void budget.take(95_000, NEVER).then(() => {
        isIn = true;
      });
    });
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal([isIn, budget.usedBytes()], [true, 95_000]);
    end();
  });
});

/** What happens in the store while a tool runs, as another request or another server would do it. */
const anyChange = fc.record({
  kind: fc.constantFrom('add', 'lengthen', 'cut', 'remove', 'queue', 'overflow', 'nothing'),
  chosen: fc.nat(100),
});

describe('a turn beside other requests', (check) => {
  check('sends in each step what the store then has, whatever was added, changed or removed', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(anyChange, { minLength: 1, maxLength: 8 }), async (changes) => {
        const differing: string[] = [];
        const left = [...changes];
        let id = '';
        let isTooLong = false;
        const compare = async ({ messages }: ModelRequest): Promise<void> => {
          const stored = await world.store.messages(id);
          const expected = toModelHistory(stored, promptID(stored), ['text']);
          if (JSON.stringify(messages) !== JSON.stringify(expected))
            differing.push(JSON.stringify({ messages, expected }));
        };
        const promptID = (stored: readonly MessageWithParts[]): string =>
          stored.find(({ parts }) => parts.some((part) => part.type === 'text' && part.text === 'go on'))?.info.id ??
          '';
        const script: Script = async function* (request, signal) {
          if (request.tools.length === 0) return yield* replying('in short')(request, signal);
          await compare(request);
          if (isTooLong) {
            isTooLong = false;
            throw new ModelError('overflow', 'The context is full');
          }
          const at = left.length;
          yield* (at === 0 ? replying('done') : calling({ name: 'change', input: { at } }))(request, signal);
        };
        const change = async (): Promise<void> => {
          const next = left.shift();
          const stored = await world.store.messages(id);
          const others = stored.filter(
            ({ info }) => info.id !== promptID(stored) && (info.role === 'user' || info.time.completed !== undefined),
          );
          const chosen = others[(next?.chosen ?? 0) % Math.max(1, others.length)];
          const part = chosen?.parts.at(-1);
          if (next?.kind === 'overflow') isTooLong = true;
          if (next?.kind === 'queue') await world.post(`/session/${id}/message`, prompt('later', { noReply: true }));
          if (chosen === undefined || part === undefined) return;
          const at = { sessionID: id, messageID: chosen.info.id };
          const more = textPart({ ...at, id: `${part.id}~` }, 'more');
          if (next?.kind === 'add') await world.store.commit([{ kind: 'part', part: more }], []);
          if (next?.kind === 'lengthen' && part.type === 'text')
            await world.store.commit([{ kind: 'part', part: { ...part, text: `${part.text}, longer` } }], []);
          if (next?.kind === 'cut')
            await world.store.commit([{ kind: 'parts-removed', sessionID: id, partIDs: [part.id] }], []);
          if (next?.kind === 'remove')
            await world.store.commit([{ kind: 'messages-removed', sessionID: id, messageIDs: [at.messageID] }], []);
        };
        const tool = toolNamed('change', async () => {
          await change();
          return outcome(`left ${left.length}`);
        });
        const world = await createAgentWorld({ scripts: [replying('one'), replying('two'), script], tools: [tool] });
        id = await world.session();
        await ask(world, id, 'first');
        await ask(world, id, 'second');
        await ask(world, id, 'go on');
        assert.equal(differing, []);
        assert.is(left.length, 0);
      }),
      { numRuns: thorough(40, 3000) },
    );
  });
});
