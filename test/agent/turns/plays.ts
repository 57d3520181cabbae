import { randomBytes } from 'node:crypto';
import * as assert from 'uvu/assert';
import type { ModelRequest } from '../../../src/agent/model/types.ts';
import { createIds } from '../../../src/agent/protocol/ids.ts';
import type { Store } from '../../../src/agent/store/store.ts';
import { createFakeClock } from '../../fake-clock.ts';
import { clientTools } from '../harness/client-tools.ts';
import { calling, createAgentWorld, replying, type Script } from '../harness/world.ts';
import { assistant, begin, ended, leave, linesOf, outputOf, result, send, textOf, user } from './world.ts';

type Given = Readonly<Record<string, unknown>>;
type Chat = {
  readonly owner: string;
  history: Given[];
  lines: string[];
  last: string | undefined;
  name: string | undefined;
};

const lastUserText = ({ messages }: ModelRequest): string =>
  linesOf(messages).findLast((line) => line.startsWith('user: ')) ?? '';

/** Calls a tool of the client for a question that asks for it, and answers any other, or with the result. */
const answering: Script = (request, signal) => {
  const text = lastUserText(request);
  const hasResult = request.messages.at(-1)?.role === 'tool';
  if (text.includes('call') && !hasResult)
    return calling({ name: 'weather', input: { city: text.slice(6) } })(request, signal);
  return replying('re ', text.slice(6))(request, signal);
};

/** Numbers from 0 to 1 that depend on the seed alone. */
export const createRandom = (seed: number) => {
  let state = seed * 2654435761 + 1;
  return (): number => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
};

/**
 * One random play of two owners: new chats, histories, edits, names, equal requests at the same moment, results, leaves. Each answer
 * belongs to its question, the model has received exactly the client's conversation, and nobody sees another owner's turn.
 */
export const play = async (
  seed: number,
  createStore: (ids: ReturnType<typeof createIds>) => Promise<Store>,
): Promise<void> => {
  const random = createRandom(seed);
  const clock = createFakeClock();
  const ids = createIds(clock, randomBytes);
  const store = await createStore(ids);
  const world = await createAgentWorld({ store, scripts: [answering], titler: null, changes: { clock, ids } });
  const here = { ...world, clock };
  const pick = <One>(list: readonly One[]): One => list[Math.floor(random() * list.length)] as One;
  const headersOf = ({ owner }: Chat) => ({ 'x-gatehouse-owner': owner });
  let count = 0;
  const turns: { readonly id: string; readonly owner: string }[] = [];

  const endOf = async (id: string, headers: Given) => {
    const call: typeof world.call = (method, path, body) =>
      world.call(method, path, body, headers as { [name: string]: string });
    const view = await ended({ ...here, call }, id);
    return { view, text: textOf(await outputOf({ call }, id)) };
  };
  const ask = async (chat: Chat, given: Given, input: readonly Given[], lines: readonly string[]): Promise<void> => {
    const headers = headersOf(chat);
    const key = random() < 0.5 ? `key-${count}` : undefined;
    const body = {
      input,
      digest: `digest-${count}`,
      ...clientTools(),
      ...given,
      ...(key === undefined ? {} : { key }),
    };
    const before = world.asked.length;
    const copies = key === undefined ? 1 : 1 + Math.floor(random() * 3);
    const all = await Promise.all(Array.from({ length: copies }, () => begin(world, body, headers as never)));
    const [first] = all;
    const found = new Set(all.map(({ turn }) => turn.id));
    assert.is(found.size, 1, `one turn for a key, not ${found.size}`);
    if (first === undefined) return;
    turns.push({ id: first.turn.id, owner: chat.owner });
    if (random() < 0.3) {
      // Its connection is lost, and the request comes again before it is aborted.
      await leave({ call: (method, path, more) => world.call(method, path, more, headers) }, first);
      const again = await begin(world, { ...body, isRetry: true }, headers as never);
      assert.is(again.turn.id, first.turn.id);
    }
    const { view, text } = await endOf(first.turn.id, headers);
    assert.is(
      world.asked.length,
      before + 1,
      `asked ${world.asked.length - before} times: ${JSON.stringify([lines, all.length, first.outcome, view.status, view, given])}`,
    );
    assert.equal(linesOf(world.asked.at(-1)?.messages ?? []), lines);
    const question = (lines.findLast((line) => line.startsWith('user: ')) ?? '').slice(6);
    if (view.status === 'calls') {
      const calls = view.calls.map(({ id, name, arguments: written }) => ({ id, name, arguments: written }));
      chat.history = [...chat.history, ...input, assistant('', calls)];
      chat.lines = [...lines, `assistant: weather#${calls[0]?.id}${calls[0]?.arguments}`];
    } else {
      assert.equal([view.status, text], ['completed', `re ${question}`]);
      chat.history = [...chat.history, ...input, assistant(text)];
      chat.lines = [...lines, `assistant: ${text}`];
    }
    chat.last = first.turn.id;
  };
  const chats: Chat[] = [];
  const placeOf = (chat: Chat): Given =>
    pick([
      { history: chat.history },
      ...(chat.last === undefined ? [] : [{ conversation: { after: chat.last } }]),
      ...(chat.name === undefined ? [] : [{ conversation: { name: chat.name }, history: chat.history }]),
    ]);
  const step = async (): Promise<void> => {
    count += 1;
    const chat = chats.length > 0 && random() < 0.8 ? pick(chats) : undefined;
    if (chat === undefined) {
      const name = random() < 0.3 ? `chat ${count}` : undefined;
      const made: Chat = { owner: pick(['key-1', 'key-2']), history: [], lines: [], last: undefined, name };
      chats.push(made);
      const text = random() < 0.3 ? 'the same' : `question ${count}${random() < 0.3 ? ' call' : ''}`;
      return ask(made, name === undefined ? {} : { conversation: { name } }, [user(text)], [`user: ${text}`]);
    }
    const calls = (chat.history.at(-1)?.calls ?? []) as readonly { readonly id: string }[];
    const [id] = calls.map((call) => call.id);
    if (id !== undefined) {
      const output = `result ${count}`;
      return ask(chat, placeOf(chat), [result(id, output)], [...chat.lines, `tool: ${id}=${output}`]);
    }
    const isEdited =
      random() < 0.25 && chat.history.every((message) => message.role !== 'tool' && message.calls === undefined);
    const kept = isEdited ? Math.floor((random() * chat.history.length) / 2) * 2 : chat.history.length;
    if (isEdited) {
      chat.history = chat.history.slice(0, kept);
      chat.lines = chat.lines.slice(0, kept);
      chat.last = undefined;
      chat.name = undefined;
    }
    const text = `question ${count}${random() < 0.3 ? ' call' : ''}`;
    return ask(chat, placeOf(chat), [user(text)], [...chat.lines, `user: ${text}`]);
  };
  for (let steps = 0; steps < 12; steps++) await step();
  for (const { id, owner } of turns) {
    const other = owner === 'key-1' ? 'key-2' : 'key-1';
    assert.is((await send(world, 'GET', `/turns/${id}`, undefined, { 'x-gatehouse-owner': other })).status, 404);
  }
  await world.server.stop();
  await store.close();
};
