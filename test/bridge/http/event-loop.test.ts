import * as assert from 'uvu/assert';
import { describe, thorough } from '../../check.ts';
import { bestStall, STALL_LIMIT_MS } from '../../event-loop-stall.ts';
import { createPlainAgent } from '../harness/plain-agent.ts';
import { assistant, createBridgeWorld, KEY, system, user } from '../harness/world.ts';

const MIB = 1024 * 1024;
const LIMIT_BYTES = 8 * MIB;
/** Leaves room for what is around a text in its body. */
const TEXT_BYTES = LIMIT_BYTES - 500;
const CHAT = '/v1/chat/completions';
const RESPONSES = '/v1/responses';

const jsonBytes = (text: string): number => Buffer.byteLength(JSON.stringify(text)) - 2;
const sized = (one: string, bytes = TEXT_BYTES): string => one.repeat(Math.floor(bytes / jsonBytes(one)));
const afterHistory = (...messages: readonly unknown[]) => ({ messages: [...messages, user('And now?')] });
const image = (bytes: number) => ({
  type: 'image_url',
  image_url: { url: `data:image/png;base64,${'iVBO'.repeat(Math.floor(bytes / 4))}` },
});
const members = (count: number, nameChars: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`n${index}${'x'.repeat(nameChars)}`, index]));

type Case = { readonly path: string; readonly body: unknown; readonly status?: number };
const chat = (body: unknown, status = 200): Case => ({ path: CHAT, body, status });
const responses = (body: unknown): Case => ({ path: RESPONSES, body });

/** Texts of one kind, in an answer of the history: there all that is done with a text is done. */
const IN_HISTORY: Readonly<Record<string, string>> = {
  'line breaks': '\n',
  'short lines': 'a\n',
  tabs: '\t',
  'accents of their own': 'e\u0301',
  'marks that have to be sorted': '\u0301\u0316',
  'Chinese lines': '漢\n',
  emoji: '👍🏽',
  'control characters': '\u0001',
  thoughts: '<think></think>',
};

/** Bodies as large as the bridge accepts them, each made of what costs most in one way. */
const BODIES: Readonly<Record<string, Case>> = {
  ...Object.fromEntries(
    Object.entries(IN_HISTORY).map(([name, one]) => [
      `a history of ${name}`,
      chat(afterHistory(user('a'), assistant(`${sized(one)}z`))),
    ]),
  ),
  'a prompt of line breaks': chat({ messages: [user(`${sized(' \n')}z`)] }),
  'a prompt of blanks': chat({ messages: [user(`${sized(' ')}z`)] }),
  'a system message': chat({ messages: [system(`${sized('漢\n')}z`), user('a')] }),
  'as many messages as there may be': chat(
    afterHistory(...Array.from({ length: 1999 }, (_, index) => [user, assistant][index % 2]?.(sized('a\n', 4100)))),
  ),
  'as many parts as there may be': chat({
    messages: [user(Array(1000).fill({ type: 'text', text: sized('a\n', 8300) }))],
  }),
  'an image': chat(afterHistory(user([image(TEXT_BYTES - 100)]), assistant('b'))),
  'a hundred images': chat({ messages: [user(Array(100).fill(image(TEXT_BYTES / 100 - 100)))] }),
  'a data URL with many parameters': chat(
    {
      messages: [user([{ type: 'image_url', image_url: { url: `data:image/png${sized(';a=b')}` } }])],
    },
    400,
  ),
  'calls of tools': chat(
    afterHistory(user('a'), {
      role: 'assistant',
      content: null,
      tool_calls: Array.from({ length: 1000 }, (_, index) => ({
        id: `call${index}`,
        type: 'function',
        function: { name: 'read', arguments: sized('{"a":"\n"}', 8000) },
      })),
    }),
  ),
  'as many values as there may be': chat({ messages: [user('a')], more: members(49_000, 150) }),
  'nested lists': chat(`{"messages":${'['.repeat(4 * MIB - 20)}${']'.repeat(4 * MIB - 20)}}`, 400),
  'a member with a long name': chat({ messages: [user('a')], [sized('\n')]: 1 }),
  'an input of Chinese lines': responses({ input: `${sized('漢\n')}z` }),
  'many input items': responses({
    input: Array.from({ length: 2000 }, (_, index) => ({
      role: index % 2 === 1 ? 'user' : 'assistant',
      content: sized('漢\n', 4000),
    })),
  }),
  'a call of another platform': responses({
    input: [user('a'), { type: 'web_search_call', id: '1', action: sized('漢\n', TEXT_BYTES - 300) }, user('b')],
  }),
  instructions: responses({ instructions: `${sized('漢\n')}z`, input: 'a' }),
};

/** The worst of each kind, which `npm test` tries. */
const WORST = ['a history of marks that have to be sorted', 'as many values as there may be'];
const isTried = (name: string): boolean => thorough(0, 1) === 1 || WORST.includes(name);

const SETTINGS = { bodyLimitBytes: LIMIT_BYTES, chunkSize: 4, chunkDelayMs: 10 };

/** Sends a body to a bridge whose agent answers with `text`, and fails if the bridge holds the event loop for too long. */
const requireNoStall = async (
  { path, body, status = 200 }: Case,
  { text, settings = {} }: { text: string; settings?: object },
): Promise<void> => {
  const bytes = new TextEncoder().encode(typeof body === 'string' ? body : JSON.stringify(body));
  const agent = createPlainAgent({ text });
  const world = await createBridgeWorld({ ways: agent.ways, settings: { ...SETTINGS, ...settings } });
  let sent = 0;
  const work = async (): Promise<void> => {
    sent += 1;
    const headers = {
      authorization: `Bearer ${KEY}`,
      'content-type': 'application/json',
      'content-length': String(bytes.byteLength),
      'idempotency-key': `try-${sent}`,
    };
    const request = new Request(`http://bridge.test${path}`, { method: 'POST', headers, body: bytes });
    const response = await world.bridge.handler(request);
    let received = 0;
    for await (const chunk of response.body ?? []) {
      received += chunk.byteLength;
      // As a client has it that reads from a socket.
      await new Promise((resolve) => setImmediate(resolve));
    }
    assert.is(response.status, status);
    if (status === 200) assert.ok(received > text.length, `received ${received} bytes`);
  };
  const probe = async (): Promise<void> => assert.is((await world.send('/health')).status, 200);
  try {
    const { gap, health } = await bestStall(work, probe);
    assert.ok(gap <= STALL_LIMIT_MS, `a timer of 1 ms waited ${Math.round(gap)} ms`);
    assert.ok(health <= STALL_LIMIT_MS, `/health took ${Math.round(health)} ms`);
  } finally {
    await world.stop();
  }
};

describe('the largest and costliest request', (check) => {
  for (const [name, one] of Object.entries(BODIES).filter(([name]) => isTried(name)))
    check(`holds the event loop for no more than ${STALL_LIMIT_MS} ms: ${name}`, () =>
      requireNoStall(one, { text: 'Seen.' }),
    );

  check(`holds the event loop for no more than ${STALL_LIMIT_MS} ms where echoes are removed`, () =>
    requireNoStall(chat({ messages: [user(`${sized('漢\n')}z`)] }), {
      text: sized('漢\n', MIB),
      settings: { dropsLeadingEcho: true },
    }),
  );
});

const ANSWERS: Readonly<Record<string, string>> = {
  'accents of their own': 'e\u0301',
  ...(thorough(0, 1) === 0
    ? {}
    : { 'short lines': 'a\n', Chinese: '漢', emoji: '👍🏽', families: '👨‍👩‍👧', letters: 'ab c' }),
};

describe('an answer of ten MiB in one piece', (check) => {
  const saying = (path: string, isStreamed: boolean): Case => ({
    path,
    body: {
      ...(path === CHAT ? { messages: [user('Say all of it')] } : { input: 'Say all of it' }),
      stream: isStreamed,
    },
  });
  for (const [name, one] of Object.entries(ANSWERS)) {
    const text = one.repeat(Math.floor((10 * MIB) / Buffer.byteLength(one)));
    check(`holds the event loop for no more than ${STALL_LIMIT_MS} ms as a stream: ${name}`, () =>
      requireNoStall(saying(CHAT, true), { text }),
    );
    check(`holds the event loop for no more than ${STALL_LIMIT_MS} ms as a streamed response: ${name}`, () =>
      requireNoStall(saying(RESPONSES, true), { text }),
    );
  }

  if (thorough(0, 1) === 0) return;
  const lines = 'a\n'.repeat(5 * MIB);
  check(`holds the event loop for no more than ${STALL_LIMIT_MS} ms as one body`, () =>
    requireNoStall(saying(CHAT, false), { text: lines }),
  );
  check(`holds the event loop for no more than ${STALL_LIMIT_MS} ms in a stream that is not paced`, () =>
    requireNoStall(saying(CHAT, true), { text: lines, settings: { chunkSize: 0 } }),
  );
});
