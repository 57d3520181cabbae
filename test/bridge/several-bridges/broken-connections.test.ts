import * as assert from 'uvu/assert';
import type { ModelRequest } from '../../../src/agent/model/types.ts';
import { pause } from '../../../src/core/async.ts';
import { HttpClientError } from '../../../src/core/http/client.ts';
import type { Handler } from '../../../src/core/http/handler.ts';
import { calling, createAgentWorld, outcome, replying, type Script, toolNamed } from '../../agent/harness/world.ts';
import { linesOf } from '../../agent/turns/world.ts';
import { describe, thorough } from '../../check.ts';
import { idIn } from '../harness/recharge-world.ts';
import { chatWith, type Reply, resultsOf, WEATHER } from '../harness/tools-world.ts';
import { type BridgeWorld, createBridgeWorld, KEY, OTHER_KEY, SHOWN, user } from '../harness/world.ts';

const { PLAYS = thorough(50, 1000), FIRST_PLAY = 1 } = process.env;
const STEPS = thorough(3, 4);
const TRIES = 6;
const SLOW_MS = 400;
/** Shorter than a turn waits for its client. */
const PATIENCE_MS = 3000;

type Message = Readonly<Record<string, unknown>>;
type Chat = {
  readonly owner: string;
  readonly name: string | undefined;
  history: readonly Message[];
  /** What a model has to receive of it: texts by their roles. */
  lines: readonly string[];
  /** An approval was asked for in it: texts of the bridge are in its history. */
  isApproved: boolean;
};
/** What becomes of the requests of a bridge to the agent. */
type Fate = 'arrives' | 'is not sent' | 'loses its answer' | 'breaks in its answer';
const FATES: readonly [Fate, ...Fate[]] = [
  'arrives',
  'arrives',
  'is not sent',
  'loses its answer',
  'breaks in its answer',
];

/** Numbers from 0 to 1 that depend on the seed alone. */
const createRandom = (seed: number) => {
  let state = seed * 2654435761 + 1;
  return (): number => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
};

/** Texts alone: calls of tools and their results are left out. */
const textsTo = ({ messages }: ModelRequest): readonly string[] =>
  linesOf(messages).filter((line) => !line.startsWith('tool: ') && !line.includes('#'));
const wordsOf = (lines: readonly string[]): string =>
  (lines.findLast((line) => line.startsWith('user: ')) ?? '').slice('user: '.length);

const broken = (body: Response['body']): ReadableStream<Uint8Array> => {
  const reader = body?.getReader();
  return new ReadableStream({
    async pull(controller) {
      const { value } = (await reader?.read()) ?? {};
      if (value !== undefined) controller.enqueue(value);
      await reader?.cancel();
      controller.error(new HttpClientError('ECONNRESET'));
    },
    cancel: () => reader?.cancel(),
  });
};

const createPlay = async (seed: number) => {
  const random = createRandom(seed);
  const pick = <One>(list: readonly [One, ...One[]]): One => list[Math.floor(random() * list.length)] ?? list[0];
  const isSo = (share: number): boolean => random() < share;
  /** How often the model was asked with these words: before the call of a tool, and after it. */
  const askedFor = new Map<string, number>();
  const paid = new Map<string, number>();
  const script: Script = async function* (request, signal) {
    const lines = textsTo(request);
    const words = wordsOf(lines);
    const hasResult = request.messages.at(-1)?.role === 'tool';
    const place = `${words}${hasResult ? ' after its result' : ''}`;
    askedFor.set(place, (askedFor.get(place) ?? 0) + 1);
    const expected = expectedOf.get(words);
    if (expected !== undefined && JSON.stringify(lines) !== JSON.stringify(expected)) mixedUp.push({ lines, expected });
    if (words.includes('slow')) await pause(agent.clock, SLOW_MS, signal);
    if (words.includes('call') && !hasResult)
      yield* calling({ name: 'weather', input: { city: words } })(request, signal);
    else if (words.includes('pay') && !hasResult) yield* calling({ name: 'pay', input: { words } })(request, signal);
    else yield* replying('re ', words)(request, signal);
  };
  const expectedOf = new Map<string, readonly string[]>();
  const mixedUp: unknown[] = [];
  const pay = toolNamed('pay', async (input) => {
    const { words = '' } = input as { readonly words?: string };
    paid.set(words, (paid.get(words) ?? 0) + 1);
    return outcome('paid');
  });
  const agent = await createAgentWorld({
    ...{ scripts: [script], titler: null, tools: [pay], changes: { configViews: SHOWN } },
    rules: [
      { permission: '*', pattern: '*', action: 'allow' },
      { permission: 'pay', pattern: '*', action: 'ask' },
    ],
  });
  const { clock } = agent;
  let fates: Fate[] = [];
  const way: Handler = async (request) => {
    const isBegin = request.method === 'POST' && new URL(request.url).pathname === '/gatehouse/turns';
    const fate = isBegin ? (fates.pop() ?? 'arrives') : 'arrives';
    if (fate === 'is not sent') throw new HttpClientError('ECONNREFUSED');
    const response = await agent.server.handler(request);
    if (fate === 'arrives') return response;
    if (fate === 'breaks in its answer')
      return new Response(broken(response.body), { status: response.status, headers: response.headers });
    await response.body?.cancel();
    throw new HttpClientError('ECONNRESET');
  };
  const startBridge = async (): Promise<BridgeWorld> => {
    const settings = { onDisconnect: { kind: 'grace', ms: 10_000 } } as const;
    const world = await createBridgeWorld({ over: agent, clock, bridges: 1, settings });
    world.replaceAgent(way);
    return world;
  };
  const bridges: [BridgeWorld, BridgeWorld] = [await startBridge(), await startBridge()];
  const killed: BridgeWorld[] = [];
  const passUntil = async (isOver: () => boolean, limitMs: number): Promise<void> => {
    for (const endAt = clock.now() + limitMs; clock.now() < endAt && !isOver(); ) await clock.advance(50);
  };
  const rest = async (): Promise<void> => {
    for (let turns = Math.floor(random() * 12); turns > 0; turns -= 1) await clock.advance(0);
  };

  /** One attempt of a client: its answer, or undefined where it has left or its bridge was killed. */
  const attempt = async (
    chat: Chat,
    messages: readonly Message[],
    { more, isTroubled }: { readonly more: Readonly<Record<string, string>>; readonly isTroubled: boolean },
  ): Promise<Reply | undefined> => {
    const index = isSo(0.5) ? 0 : 1;
    const leaving = new AbortController();
    const headers = {
      authorization: `Bearer ${chat.owner}`,
      ...(chat.name === undefined ? {} : { 'x-session-id': chat.name }),
      ...more,
    };
    const world = bridges[index];
    const send: BridgeWorld['send'] = (path, body, given) => world.send(path, body, given, leaving.signal);
    let outcomeOf: { readonly reply: Reply | undefined } | undefined;
    const tools = { tools: [WEATHER] };
    chatWith({ send }, messages, tools, headers).then(
      (reply) => {
        outcomeOf = { reply };
      },
      () => {
        outcomeOf = { reply: undefined };
      },
    );
    const trouble = isTroubled ? random() : 1;
    if (trouble < 0.5) {
      await rest();
      if (trouble < 0.3) leaving.abort();
      else {
        world.killAgent();
        killed.push(world);
        bridges[index] = await startBridge();
        leaving.abort();
      }
      // The agent notices that nobody reads.
      for (let turns = 0; turns < 20; turns += 1) await clock.advance(0);
      return undefined;
    }
    await passUntil(() => outcomeOf !== undefined, PATIENCE_MS * 10);
    assert.ok(outcomeOf, `play ${seed}: no answer at all to ${JSON.stringify(messages.at(-1))}`);
    return outcomeOf.reply?.status === 200 ? outcomeOf.reply : failed(outcomeOf.reply);
  };
  let lastFailure = '';
  const failed = (reply: Reply | undefined): undefined => {
    lastFailure = JSON.stringify(reply?.error);
    const status = reply?.status ?? 502;
    assert.ok(status >= 499, `play ${seed}: ${status} ${reply?.error?.message}`);
  };
  let keys = 0;
  /** A client that asks until it has an answer. */
  const ask = async (chat: Chat, messages: readonly Message[]): Promise<Reply> => {
    const identity = pick(['key', 'mark']);
    keys += 1;
    const key = `key-${keys}`;
    for (let tries = 0; tries < TRIES; tries += 1) {
      const isTroubled = tries < TRIES - 1 && isSo(0.5);
      fates = isTroubled ? [pick(FATES), pick(FATES)] : [];
      const mark = tries === 0 ? {} : { 'x-stainless-retry-count': String(tries) };
      const more = identity === 'key' ? { 'idempotency-key': key } : mark;
      const reply = await attempt(chat, messages, { more, isTroubled });
      if (reply !== undefined) return reply;
    }
    throw new Error(`play ${seed}: no answer to ${JSON.stringify(messages.at(-1))}: ${lastFailure}`);
  };

  const chats: Chat[] = [];
  let count = 0;
  const step = async (): Promise<void> => {
    count += 1;
    const known = chats.length > 0 && isSo(0.7) ? chats[Math.floor(random() * chats.length)] : undefined;
    const chat: Chat = known ?? {
      owner: pick([KEY, OTHER_KEY]),
      name: isSo(0.4) ? `desk-${count}` : undefined,
      ...{ history: [], lines: [], isApproved: false },
    };
    if (known === undefined) chats.push(chat);
    if (known !== undefined && isSo(0.25) && chat.lines.length === chat.history.length) {
      // Edited, or an answer asked for again. A message alone goes on in a named conversation.
      const kept = Math.max(chat.name === undefined ? 0 : 2, Math.floor((random() * chat.history.length) / 2) * 2);
      chat.history = chat.history.slice(0, kept);
      chat.lines = chat.lines.slice(0, kept);
    }
    const words = `words ${count}${pick(['', '', ' slow', ' call', ' pay', ' slow call'])}`;
    const lines = [...chat.lines, `user: ${words}`];
    if (!chat.isApproved) expectedOf.set(words, lines);
    const asked = [...chat.history, user(words)];
    let reply = await ask(chat, asked);
    let messages: readonly Message[] = asked;
    if (words.includes('call')) {
      assert.is(reply.calls.length, 1, `play ${seed}: the call of ${words}`);
      messages = [...asked, reply.message, ...resultsOf(reply.calls)];
      reply = await ask(chat, messages);
    } else if (words.includes('pay')) {
      const text = String(reply.message.content);
      assert.is(paid.get(words), undefined, `play ${seed}: paid without approval`);
      messages = [...asked, reply.message, user(`approve ${idIn(text)}`)];
      chat.isApproved = true;
      reply = await ask(chat, messages);
      assert.is(paid.get(words), 1, `play ${seed}: ${words}: ${reply.message.content}`);
    }
    assert.match(String(reply.message.content), `re ${words}`, `play ${seed}`);
    chat.history = [...messages, reply.message];
    chat.lines = [...lines, `assistant: re ${words}`];
  };
  const play = async (): Promise<void> => {
    // What the model gets is what the client has sent.
    const checkMixedUp = (): void => assert.equal(mixedUp, [], `play ${seed}`);
    for (let steps = 0; steps < STEPS; steps += 1) {
      await step();
      checkMixedUp();
    }
    for (const [words, times] of [...askedFor, ...paid])
      assert.is(times, 1, `play ${seed}: ${words} ran ${times} times`);
  };
  const stop = async (): Promise<void> => {
    let isStopped = false;
    const stopping = Promise.all([...bridges, ...killed].map(({ bridge }) => bridge.stop()))
      .then(() => agent.server.stop())
      .then(() => {
        isStopped = true;
      });
    await passUntil(() => isStopped, 60_000);
    await stopping;
  };
  return { play, stop };
};

describe('two bridges whose connections to the agent break, and which are killed', (check) => {
  check('lose, repeat and mix up no answer, in random plays', async () => {
    for (let seed = Number(FIRST_PLAY); seed < Number(FIRST_PLAY) + Number(PLAYS); seed += 1) {
      const { play, stop } = await createPlay(seed);
      await play();
      await stop();
    }
  });
});
