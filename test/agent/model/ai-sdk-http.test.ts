import * as assert from 'uvu/assert';
import { systemClock } from '../../../src/adapter/node/clock.ts';
import { createAiModel } from '../../../src/agent/model/ai-sdk.ts';
import { ModelError, type ModelEvent } from '../../../src/agent/model/types.ts';
import { answer, calls, refusal, type ScriptedReply, silence, text } from '../../../src/demo/model/reply.ts';
import { describe, rejection } from '../../check.ts';
import { closedPort, withHttpServer, withTcpServer } from '../../core/http/local-server.ts';
import { createControlledModel, type ModelControl } from '../../demo/model/control.ts';
import { withModelServer } from '../harness/model-server.ts';
import { ADAPTERS, collected, question, TOOLS, target, textIn, until } from '../harness/model-world.ts';

const PROMPT_MS = 100;
const LEFT = new Error('The caller left');

const model = createAiModel({
  fetcher: fetch,
  clock: systemClock,
  version: '1.2.3',
  limitsFor: () => ({ headerMs: 400, gapMs: 400, wholeMs: 0 }),
});
const asking = (baseURL: string, npm: string, signal = new AbortController().signal) =>
  collected(model(question({ target: target({ baseURL, npm }), tools: TOOLS }), signal));
const problemOf = async (asked: Promise<unknown>): Promise<ModelError> => {
  const error = await rejection(asked);
  if (error instanceof ModelError) return error;
  throw error;
};

type Ask = (npm: string, signal?: AbortSignal) => Promise<ModelEvent[]>;
const withModel = (body: (ask: Ask, control: ModelControl) => Promise<void>): Promise<void> => {
  const { handler, control } = createControlledModel({ clock: systemClock });
  return withModelServer(handler, ({ url }) => body((npm, signal) => asking(`${url}/v1`, npm, signal), control));
};

describe('a model over real connections', (check) => {
  for (const npm of ADAPTERS) {
    check(`answers in pieces, as they come (${npm})`, () =>
      withModel(async (ask, control) => {
        const pieces = [...text('one ', 'two'), ...calls({ name: 'weather', arguments: { city: 'Bern' } })];
        control.addReply(answer(pieces));
        const events = await ask(npm);
        assert.is(textIn(events, 'text'), 'one two');
        const call = events.find((event) => event.kind === 'call');
        assert.equal(call?.kind === 'call' && call.input, { city: 'Bern' });
        assert.is(events.at(-1)?.kind, 'finished');
      }),
    );

    check(`refuses, breaks off and falls silent (${npm})`, () =>
      withModel(async (ask, control) => {
        control.addReply(refusal(429, 'rate_limit_exceeded', { headers: { 'retry-after': '3' } }));
        const refused = await problemOf(ask(npm));
        assert.equal([refused.statusCode, refused.retryAfterMs], [429, 3000]);
        control.addReply(answer([...text('one'), { kind: 'wait', ms: 20 }, { kind: 'break' }]));
        assert.is((await problemOf(ask(npm))).kind, 'network');
        control.addReply(silence);
        assert.match((await problemOf(ask(npm))).message, 'silent for 400 ms');
        control.addReply(answer([...text('one'), { kind: 'hang' }]));
        assert.match((await problemOf(ask(npm))).message, 'silent for 400 ms');
      }),
    );

    const stages: readonly (readonly [string, ScriptedReply])[] = [
      ['before the answer', silence],
      ['within the answer', answer([...text('one'), { kind: 'hang' }])],
    ];
    for (const [stage, reply] of stages) {
      check(`is left ${stage}, and its connection closed (${npm})`, () =>
        withModel(async (ask, control) => {
          control.addReply(reply);
          const leaving = new AbortController();
          const asked = rejection(ask(npm, leaving.signal));
          await until(() => control.requests().length === 1, 'the request');
          await new Promise((resolve) => setTimeout(resolve, 30));
          const leftAt = performance.now();
          leaving.abort(LEFT);
          assert.is(await asked, LEFT);
          assert.ok(performance.now() - leftAt < PROMPT_MS);
          await until(() => control.requests()[0]?.isAborted() === true, 'the backend to hear of it');
        }),
      );
    }
  }

  check('is not there', async () => {
    const found = await problemOf(asking(`http://127.0.0.1:${await closedPort()}/v1`, ADAPTERS[0]));
    assert.equal([found.kind, found.isRetryable], ['network', true]);
    assert.match(found.message, 'ECONNREFUSED');
  });

  check('hangs up without an answer', () =>
    withTcpServer(
      (socket) => socket.once('data', () => socket.destroy()),
      async ({ url }) => {
        const found = await problemOf(asking(`${url}/v1`, ADAPTERS[0]));
        assert.equal([found.kind, found.isRetryable], ['network', true]);
      },
    ),
  );

  check('sends elsewhere, and no one goes there with the key', async () => {
    const asked: string[] = [];
    await withHttpServer(
      (request, response) => {
        asked.push(request.url ?? '');
        response.writeHead(308, { location: '/elsewhere' }).end();
      },
      async ({ url }) => assert.is((await problemOf(asking(`${url}/v1`, ADAPTERS[0]))).statusCode, 308),
    );
    assert.equal(asked, ['/v1/chat/completions']);
  });

  check('speaks no HTTP', () =>
    withTcpServer(
      (socket) => socket.end('SSH-2.0-OpenSSH\r\n'),
      async ({ url }) => assert.is((await problemOf(asking(`${url}/v1`, ADAPTERS[0]))).kind, 'network'),
    ),
  );

  check('sends its events in the smallest pieces that a network makes, in the middle of letters', () => {
    const outputText = 'Grüße 👋 aus Zürich';
    const chunk = { choices: [{ index: 0, delta: { content: outputText }, finish_reason: 'stop' }] };
    const bytes = Buffer.from(`data: ${JSON.stringify(chunk)}\r\n\r\ndata: [DONE]\r\n\r\n`);
    return withHttpServer(
      async (request, response) => {
        request.resume();
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.socket?.setNoDelay(true);
        for (const byte of bytes) {
          response.write(Buffer.of(byte));
          await new Promise(setImmediate);
        }
        response.end();
      },
      async ({ url }) => assert.is(textIn(await asking(`${url}/v1`, ADAPTERS[0]), 'text'), outputText),
    );
  });
});
