import type { IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import * as assert from 'uvu/assert';
import { answer, reasoning, text } from '../../../src/demo/model/reply.ts';
import { describe } from '../../check.ts';
import { isNoTitle, until } from '../agent/world.ts';
import { asked, scriptTool, TRICKY } from './clients.ts';
import { ask, askChat, askResponses, chatOf, chunksIn, eventsIn, matchesIn, strictly } from './raw.ts';
import { BRIDGE_KEY, sharedBridgeWorld } from './world.ts';

const beside = sharedBridgeWorld({ bridge: { BRIDGE_ON_DISCONNECT: '200' } });

/** What a stream's answer has above its first event, each of it once. */
const assertStreamHead = ({ statusCode, headers, rawHeaders }: IncomingMessage): void => {
  assert.is(statusCode, 200);
  assert.match(headers['content-type'] ?? '', /^text\/event-stream(; charset=utf-8)?$/);
  assert.is(headers['cache-control'], 'no-cache, no-transform');
  assert.is(headers['x-accel-buffering'], 'no');
  assert.is(headers['transfer-encoding'], 'chunked');
  for (const absent of ['content-length', 'content-encoding', 'location']) assert.is(headers[absent], undefined);
  assert.match(String(headers['x-request-id']), /^req-/);
  assert.match(String(headers['x-session-id']), /^conv_/);
  const names = rawHeaders.filter((_, place) => place % 2 === 0).map((name) => name.toLowerCase());
  assert.is(new Set(names).size, names.length, 'a header came twice');
};

describe('the bytes of a streamed chat completion', (check) => {
  check(
    'are a role, then words, then why it ended, then [DONE]: and no usage that no one asked for',
    beside(async ({ bridge, model }) => {
      model.addReply(answer([...reasoning('Hm.'), ...text(...TRICKY)]), isNoTitle);
      const { response, ended } = await askChat(bridge);
      assertStreamHead(response);
      const { reported } = strictly(await ended);
      assert.ok(reported.every(({ event }) => event === undefined));
      assert.equal(
        reported.flatMap(({ data }, place) => (data === '[DONE]' ? [place] : [])),
        [reported.length - 1],
      );
      const chunks = chunksIn(reported);
      const [first] = chunks;
      assert.equal(first?.choices[0]?.delta, { role: 'assistant', content: '' });
      for (const { id, object, created, model: name, choices, ...more } of chunks) {
        assert.equal([id, object, created, name], [first?.id, 'chat.completion.chunk', first?.created, 'demo/main']);
        assert.equal([choices.length, choices[0]?.index, choices[0]?.logprobs], [1, 0, null]);
        const { service_tier: tier, system_fingerprint: fingerprint, ...others } = more as Record<string, unknown>;
        assert.equal([tier, others], ['default', {}]);
        assert.match(String(fingerprint), /^fp_[\w-]{10}$/);
      }
      const finishes = chunks.map(({ choices }) => choices[0]?.finish_reason);
      assert.equal([finishes.indexOf('stop'), finishes.filter((why) => why !== null).length], [finishes.length - 1, 1]);
      assert.equal(chunks.at(-1)?.choices[0]?.delta, {});
      assert.is(matchesIn(chunks), TRICKY);
      assert.not.match(JSON.stringify(reported), /\\\\ud[89a-f]/);
    }),
  );

  check(
    'report the usage once if it is asked for, before [DONE] and with no choice beside it',
    beside(async ({ bridge, model }) => {
      model.addReply(answer(text('Good ', 'day.'), { usage: { prompt: 30, completion: 7 } }), isNoTitle);
      const { ended } = await askChat(bridge, { stream_options: { include_usage: true } });
      const chunks = chunksIn(strictly(await ended).reported);
      const last = chunks.at(-1);
      assert.equal([last?.choices, last?.usage?.total_tokens], [[], 37]);
      for (const { usage, choices } of chunks.slice(0, -1)) assert.equal([usage, choices.length], [null, 1]);
    }),
  );

  check(
    'begin at once, however long the model thinks',
    beside(async (world) => {
      world.model.addReply(answer([{ kind: 'hang' }]), isNoTitle);
      const { response, bytes, leave } = await askChat(world.bridge);
      assertStreamHead(response);
      await until('the role is there', () => /"role":"assistant"/.test(bytes().toString()));
      await until('the model is asked', () => asked(world).length === 1);
      leave();
      await until('the model sees that nobody listens', () => asked(world)[0]?.isAborted() === true);
    }),
  );

  check(
    "hold no call that a client could take for its own, and show the agent's call as a thought",
    beside(async (world) => {
      scriptTool(world);
      const { ended } = await askChat(world.bridge, { tools: [] });
      const bytes = await ended;
      assert.not.match(bytes.toString(), /tool_calls|function_call/);
      const chunks = chunksIn(strictly(bytes).reported);
      assert.is(matchesIn(chunks), 'I look.\n\nIt is five.');
      const thoughts = chunks.map(({ choices }) => choices[0]?.delta.reasoning_content ?? '').join('');
      assert.is(thoughts, '[tool tools_echo] started\n\n[tool tools_echo] finished');
    }),
  );

  check(
    'end with an error and without [DONE] when the model fails amid its answer',
    beside(async ({ bridge, model }) => {
      const error = { kind: 'error', code: 'invalid_request_error', message: 'canary-backend-words' } as const;
      model.addReply(answer([...text('so far '), error]), isNoTitle);
      const { ended } = await askChat(bridge);
      const bytes = await ended;
      const { reported } = strictly(bytes);
      const last = JSON.parse(reported.at(-1)?.data ?? '') as { readonly error: Readonly<Record<string, unknown>> };
      assert.equal(Object.keys(last), ['error']);
      assert.equal(Object.keys(last.error).sort(), ['code', 'message', 'param', 'type']);
      assert.equal([last.error.code, last.error.type], ['model_error', 'server_error']);
      assert.is(matchesIn(chunksIn(reported.slice(0, -1))), 'so far ');
      assert.ok(chunksIn(reported.slice(0, -1)).every(({ choices }) => choices[0]?.finish_reason === null));
      assert.not.match(bytes.toString(), '[DONE]');
    }),
  );
});

describe('the bytes of a whole chat completion', (check) => {
  check(
    'are one object, which no one keeps',
    beside(async (world) => {
      scriptTool(world);
      const { response, ended } = await ask(world.bridge, '/v1/chat/completions', chatOf());
      const whole = JSON.parse((await ended).toString()) as {
        readonly object: string;
        readonly choices: readonly { readonly message: object; readonly finish_reason: string }[];
        readonly usage: { readonly total_tokens: number };
      };
      const { headers } = response;
      assert.match(headers['content-type'] ?? '', /^application\/json/);
      assert.is(headers['cache-control'], 'no-store');
      assert.equal(
        [whole.object, whole.choices.length, whole.choices[0]?.finish_reason],
        ['chat.completion', 1, 'stop'],
      );
      assert.not.ok('tool_calls' in (whole.choices[0]?.message ?? {}));
      assert.ok(whole.usage.total_tokens > 0);
    }),
  );

  check(
    'say of a failing model that asking again is of no use',
    beside(async ({ bridge, model }) => {
      model.addReply({ kind: 'refusal', status: 400, body: { error: { message: 'canary-backend-words' } } }, isNoTitle);
      const { response, ended } = await ask(bridge, '/v1/chat/completions', chatOf());
      const { error } = JSON.parse((await ended).toString()) as { readonly error: Readonly<Record<string, unknown>> };
      assert.equal([response.statusCode, response.headers['x-should-retry']], [502, 'false']);
      assert.equal([error.code, error.type, error.param], ['model_error', 'server_error', null]);
    }),
  );

  check(
    'are the same to a client that sends its request in packets of one byte',
    beside(async ({ bridge, model }) => {
      model.addReply('Good day.', isNoTitle);
      const body = JSON.stringify(chatOf());
      const head = [
        'POST /v1/chat/completions HTTP/1.1',
        'Host: 127.0.0.1',
        `Authorization: Bearer ${BRIDGE_KEY}`,
        'Content-Type: application/json',
        `Content-Length: ${Buffer.byteLength(body)}`,
        'Connection: close',
      ];
      const { port } = new URL(bridge.address);
      const collected = await new Promise<string>((settle, reject) => {
        let words = '';
        const socket = connect({ port: Number(port), host: '127.0.0.1', noDelay: true });
        socket.setEncoding('utf8').on('error', reject);
        socket.on('data', (piece) => {
          words += piece;
        });
        socket.on('close', () => settle(words));
        for (const byte of Buffer.from(`${head.join('\r\n')}\r\n\r\n${body}`)) socket.write(Uint8Array.of(byte));
      });
      assert.match(collected, /^HTTP\/1\.1 200 /);
      assert.match(collected, '"content":"Good day."');
    }),
  );
});

describe('the bytes of a streamed response', (check) => {
  check(
    'are events that say their name twice, numbered without a gap, each item begun and ended once',
    beside(async (world) => {
      scriptTool(world);
      const { response, ended } = await askResponses(world.bridge);
      assertStreamHead(response);
      const events = eventsIn(strictly(await ended).reported);
      assert.equal(
        events.map(({ sequence_number }) => sequence_number),
        events.map((_, place) => place),
      );
      const types = events.map(({ type }) => type);
      assert.equal(types.slice(0, 2), ['response.created', 'response.in_progress']);
      assert.is(types.at(-1), 'response.completed');
      for (const kind of ['added', 'done']) {
        const indexes = events.filter(({ type }) => type === `response.output_item.${kind}`);
        assert.equal(
          indexes.map(({ output_index }) => output_index),
          [0, 1, 2],
        );
      }
      assert.ok(types.includes('response.output_text.delta'));
    }),
  );

  check(
    'end with an error and a failed response when the model fails amid its answer',
    beside(async ({ bridge, model }) => {
      const error = { kind: 'error', code: 'invalid_request_error', message: 'canary-backend-words' } as const;
      model.addReply(answer([...text('so far '), error]), isNoTitle);
      const { ended } = await askResponses(bridge);
      const events = eventsIn(strictly(await ended).reported);
      assert.equal(
        events.slice(-2).map(({ type }) => type),
        ['error', 'response.failed'],
      );
      assert.is((events.at(-2) as { readonly code?: string } | undefined)?.code, 'model_error');
    }),
  );
});
