import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { systemClock } from '../../../src/adapter/node/clock.ts';
import { openSqliteStore } from '../../../src/agent/adapter/sqlite/store.ts';
import { createAiModel } from '../../../src/agent/model/ai-sdk.ts';
import type { ChatModel } from '../../../src/agent/model/types.ts';
import { createIds } from '../../../src/agent/protocol/ids.ts';
import type { AgentTool } from '../../../src/agent/tools/tool.ts';
import { describe, sampled } from '../../check.ts';
import { bestStall, STALL_LIMIT_MS } from '../../event-loop-stall.ts';
import { type AgentWorld, createAgentWorld, toolNamed } from '../harness/world.ts';
import { textPart, userMessage } from '../store/samples.ts';

const MIB = 1024 * 1024;
const TEXT_LIMIT_BYTES = 3 * MIB;
const PNG = 'data:image/png;base64,';

const image = (chars: number) => ({ type: 'file', mime: 'image/png', url: PNG + 'iVBO'.repeat(Math.floor(chars / 4)) });
const bytesOf = (body: unknown): Uint8Array<ArrayBuffer> =>
  new TextEncoder().encode(typeof body === 'string' ? body : JSON.stringify(body));
const sized = (one: string, bytes: number) => one.repeat(Math.floor(bytes / one.length));

/** Bodies as large as the agent server accepts them, each made of what costs most in one way. */
const BODIES: Readonly<Record<string, { readonly body: Uint8Array<ArrayBuffer>; readonly status: number }>> = {
  'one image': { body: bytesOf({ parts: [image(9 * MIB - 200)] }), status: 200 },
  'a hundred images': { body: bytesOf({ parts: Array(100).fill(image((9 * MIB) / 100 - 200)) }), status: 200 },
  'a file of text': {
    body: bytesOf({ parts: [{ ...image((TEXT_LIMIT_BYTES / 3) * 4), mime: 'text/plain' }] }),
    status: 200,
  },
  'a file with escapes': {
    body: bytesOf({
      parts: [{ ...image(0), mime: 'text/plain', url: `data:text/plain,${sized('%E6%BC%A2', TEXT_LIMIT_BYTES)}` }],
    }),
    status: 200,
  },
  'a text in ASCII': {
    body: bytesOf({ parts: [{ type: 'text', text: sized('ab c', TEXT_LIMIT_BYTES) }] }),
    status: 200,
  },
  'a text of line breaks': {
    body: bytesOf({ parts: [{ type: 'text', text: `${sized(' \n', TEXT_LIMIT_BYTES - 1)}x` }] }),
    status: 200,
  },
  'a text in Chinese': {
    body: bytesOf({ parts: [{ type: 'text', text: sized('漢', TEXT_LIMIT_BYTES / 3 - 1) }] }),
    status: 200,
  },
  'a system prompt': {
    body: bytesOf({ parts: [{ type: 'text', text: 'a' }], system: sized('漢', TEXT_LIMIT_BYTES / 3 - 1) }),
    status: 200,
  },
  'text and image': {
    body: bytesOf({ parts: [{ type: 'text', text: sized('ab c', TEXT_LIMIT_BYTES) }, image(6 * MIB - 400)] }),
    status: 200,
  },
  'empty objects': { body: bytesOf(`{"parts":[${sized('{},', 9 * MIB - 200)}{}]}`), status: 400 },
  'nested lists': {
    body: bytesOf(`{"parts":${sized('[', 4.5 * MIB - 20)}${sized(']', 4.5 * MIB - 20)}}`),
    status: 400,
  },
  'many names': {
    body: bytesOf({
      parts: [{ type: 'text', text: 'a' }],
      more: Object.fromEntries(Array.from({ length: 500_000 }, (_, index) => [`n${index}`, index])),
    }),
    status: 400,
  },
  'many parts': { body: bytesOf({ parts: Array(200_000).fill({ type: 'text', text: 'a' }) }), status: 400 },
};

const answerOf = (): Response =>
  new Response(
    [
      { choices: [{ index: 0, delta: { role: 'assistant', content: 'Seen.' }, finish_reason: null }] },
      {
        choices: [{ index: 0, delta: {}, finish_reason: 'stop' }],
        usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
      },
    ]
      .map(
        (chunk) =>
          `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 0, model: 'main', ...chunk })}\n\n`,
      )
      .concat('data: [DONE]\n\n')
      .join(''),
    { headers: { 'content-type': 'text/event-stream' } },
  );

const answeringModel = (): ChatModel =>
  createAiModel({ fetcher: async () => answerOf(), clock: systemClock, version: '0.0.0-test' });

/** An agent server as it runs, on a file and before the real SDK; only the network is missing. */
const inWorld = async (
  body: (world: AgentWorld) => Promise<void>,
  { model = answeringModel(), tools = [] }: { readonly model?: ChatModel; readonly tools?: readonly AgentTool[] } = {},
): Promise<void> => {
  const directory = mkdtempSync(join(tmpdir(), 'event-loop-'));
  const ids = createIds(systemClock, randomBytes);
  const store = await openSqliteStore({ file: join(directory, 'agent.db'), ids });
  const memory = { limitBytes: 9 * MIB, memoryBytes: 4 * 1024 * MIB };
  try {
    const world = await createAgentWorld({
      store,
      tools,
      titler: null,
      changes: { clock: systemClock, ids, model, memory },
    });
    await body(world).finally(world.server.stop);
  } finally {
    await store.close();
    rmSync(directory, { recursive: true, force: true });
  }
};

const post = async (
  { server }: AgentWorld,
  path: string,
  body: Uint8Array<ArrayBuffer>,
): Promise<{ status: number; text: string }> => {
  const headers = { 'content-type': 'application/json', 'content-length': String(body.byteLength) };
  const response = await server.handler(new Request(`http://agent.test${path}`, { method: 'POST', headers, body }));
  return { status: response.status, text: await response.text() };
};

describe('the largest and costliest prompt', (check) => {
  for (const [name, { body, status }] of sampled(Object.entries(BODIES), 4)) {
    check(`holds the event loop for no more than ${STALL_LIMIT_MS} ms: ${name}`, () =>
      inWorld(async (world) => {
        const work = async (): Promise<void> => {
          const answer = await post(world, `/session/${await world.session()}/message`, body);
          assert.is(answer.status, status);
          if (status === 200) assert.match(answer.text, /Seen\./);
        };
        const probe = async (): Promise<void> => assert.is((await world.call('GET', '/health')).status, 200);
        const { gap, health } = await bestStall(work, probe);

        assert.ok(gap <= STALL_LIMIT_MS, `a timer of 1 ms waited ${Math.round(gap)} ms`);
        assert.ok(health <= STALL_LIMIT_MS, `/health took ${Math.round(health)} ms`);
      }),
    );
  }
});

describe('a turn in a session of 500 messages and 60 MB', (check) => {
  const SESSION_BYTES = 60 * MIB;
  const MESSAGES = 500;
  const STEPS = 4;
  const chunk = (delta: object, finish: string): string =>
    `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 0, model: 'main', choices: [{ index: 0, delta, finish_reason: finish }], usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 } })}\n\ndata: [DONE]\n\n`;

  /** A model that makes a call in each step but the last one. */
  const modelOf = () => {
    let step = 0;
    const fetcher = async (): Promise<Response> => {
      step += 1;
      const call = {
        index: 0,
        id: `call-${step}`,
        type: 'function',
        function: { name: 'look', arguments: `{"at":${step}}` },
      };
      const body =
        step % STEPS === 0 ? chunk({ content: 'Seen.' }, 'stop') : chunk({ tool_calls: [call] }, 'tool_calls');
      return new Response(body, { headers: { 'content-type': 'text/event-stream' } });
    };
    return createAiModel({ fetcher, clock: systemClock, version: '0.0.0-test' });
  };
  const fill = async ({ store }: AgentWorld, sessionID: string, isOfImages: boolean): Promise<void> => {
    const text = sized('ab c', SESSION_BYTES / MESSAGES);
    const { mime, url } = image(SESSION_BYTES / MESSAGES);
    for (let at = 1; at <= MESSAGES; at += 1) {
      const messageID = `msg_${String(at).padStart(12, '0')}aaaaaaaaaaaaaa`;
      const part = { id: `prt_${String(at).padStart(12, '0')}aaaaaaaaaaaaaa`, messageID, sessionID };
      const message = { ...userMessage(messageID, sessionID), model: { providerID: 'demo', modelID: 'main' } };
      await store.commit(
        [
          { kind: 'message', message },
          { kind: 'part', part: isOfImages ? { ...part, type: 'file', mime, url } : textPart(part, text) },
        ],
        [],
      );
    }
  };

  for (const what of sampled(['texts', 'images'], 2))
    check(`holds the event loop for no more than ${STALL_LIMIT_MS} ms, in any of its steps: ${what}`, () =>
      inWorld(
        async (world) => {
          const id = await world.session();
          await fill(world, id, what === 'images');
          const work = async (): Promise<void> => {
            const { status, text } = await post(
              world,
              `/session/${id}/message`,
              bytesOf({ parts: [{ type: 'text', text: 'look' }] }),
            );
            assert.is(status, 200);
            assert.match(text, /Seen\./);
          };
          const probe = async (): Promise<void> => assert.is((await world.call('GET', '/health')).status, 200);
          const { gap } = await bestStall(work, probe);
          assert.ok(gap <= STALL_LIMIT_MS, `a timer of 1 ms waited ${Math.round(gap)} ms`);
        },
        { model: modelOf(), tools: [toolNamed('look')] },
      ),
    );
});
