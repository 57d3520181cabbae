import * as assert from 'uvu/assert';
import { createBackendFetch, type Fetcher } from '../../src/agent/backend-fetch.ts';
import { ModelProblem } from '../../src/agent/chat-model.ts';
import { describe, rejection } from '../check.ts';
import { createFakeClock } from '../fake-clock.ts';

const EVENTS = { headers: { 'content-type': 'text/event-stream' } };

/** A backend fetch over `fetcher`, with what it was given and a count of listeners on the caller's signal. */
const createWorld = (fetcher: Fetcher) => {
  const clock = createFakeClock();
  const signals: AbortSignal[] = [];
  const noted: Fetcher = (url, init) => {
    if (init.signal) signals.push(init.signal);
    return fetcher(url, init);
  };
  const limits = { userAgent: 'us/1', headerLimitMs: 100, gapLimitMs: 100 };
  const ask = createBackendFetch(
    { fetcher: noted, clock, ...limits },
    { providerID: 'acme', apiKey: 'k', headers: {} },
  );
  const leaving = new AbortController();
  let listeners = 0;
  const { addEventListener, removeEventListener } = leaving.signal;
  leaving.signal.addEventListener = (...given: Parameters<typeof addEventListener>) => {
    listeners += 1;
    addEventListener.apply(leaving.signal, given);
  };
  leaving.signal.removeEventListener = (...given: Parameters<typeof removeEventListener>) => {
    listeners -= 1;
    removeEventListener.apply(leaving.signal, given);
  };
  return {
    clock,
    leaving,
    ask: () => ask('http://model.test/v1', { method: 'POST', body: '{}', signal: leaving.signal }),
    listeners: () => listeners,
    isBrokenOff: () => signals.map(({ aborted }) => aborted),
  };
};

/** A body that gives these chunks, and then nothing and no end; `isLeft` once nobody reads it. */
const endless = (chunks: readonly string[]) => {
  const waiting = [...chunks];
  let isLeft = false;
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      const chunk = waiting.shift();
      if (chunk === undefined) return new Promise(() => {});
      controller.enqueue(new TextEncoder().encode(chunk));
    },
    cancel() {
      isLeft = true;
    },
  });
  return { body, isLeft: () => isLeft };
};

describe('a fetch from a backend', (check) => {
  check('that is read to its end leaves nothing behind and breaks nothing off', async () => {
    const { ask, listeners, clock, isBrokenOff } = createWorld(async () => new Response('data: x\n\n', EVENTS));
    assert.is(await (await ask()).text(), 'data: x\n\n');
    assert.equal([listeners(), clock.pending()], [0, 0]);
    assert.equal(isBrokenOff(), [false]);
  });

  check('that came in one piece leaves nothing behind either', async () => {
    const whole = { choices: [{ message: { role: 'assistant', content: 'x' } }] };
    const { ask, listeners, clock } = createWorld(async () => Response.json(whole));
    assert.match(await (await ask()).text(), '"finish_reason":"stop"');
    assert.equal([listeners(), clock.pending()], [0, 0]);
  });

  check('that nobody reads on is broken off', async () => {
    const { body, isLeft } = endless(['data: x\n\n']);
    const { ask, listeners, isBrokenOff } = createWorld(async () => new Response(body, EVENTS));
    await (await ask()).body?.cancel();
    assert.equal([listeners(), isLeft()], [0, true]);
    assert.equal(isBrokenOff(), [true]);
  });

  for (const [what, given] of [
    ['is refused', () => new Response(endless(['{"error":']).body, { status: 500 })],
    ['is a web page', () => new Response(endless(['<p>']).body, { headers: { 'content-type': 'text/html' } })],
    [
      'never ends, and should be one piece',
      () => new Response(endless(['{']).body, { headers: { 'content-type': 'application/json' } }),
    ],
  ] as const) {
    check(`that ${what} is broken off, whatever is still to come`, async () => {
      const { ask, listeners, clock, isBrokenOff } = createWorld(async () => given());
      const failing = rejection(ask());
      await clock.advance(100);
      assert.instance(await failing, ModelProblem);
      assert.equal([listeners(), clock.pending()], [0, 0]);
      assert.equal(isBrokenOff(), [true]);
    });
  }

  check('that falls silent is broken off', async () => {
    const { body, isLeft } = endless(['data: x\n\n']);
    const { ask, listeners, clock, isBrokenOff } = createWorld(async () => new Response(body, EVENTS));
    const reading = rejection((await ask()).text());
    await clock.advance(100);
    const problem = await reading;
    assert.ok(problem instanceof ModelProblem && problem.kind === 'network');
    assert.equal([listeners(), isLeft()], [0, true]);
    assert.equal(isBrokenOff(), [true]);
  });

  check('that never stops talking is given up', async () => {
    const { body, isLeft } = endless(Array.from({ length: 70 }, () => 'x'.repeat(1024 * 1024)));
    const { ask } = createWorld(async () => new Response(body, EVENTS));
    const problem = await rejection((await ask()).text());
    assert.ok(problem instanceof ModelProblem && !problem.isRetryable);
    assert.match(problem.message, 'more than 67108864 bytes');
    assert.ok(isLeft());
  });

  check('that refuses at length is read only so far', async () => {
    const start = '{"error":{"code":"context_length_exceeded","message":"';
    const { body, isLeft } = endless([start, ...Array.from({ length: 70 }, () => 'x'.repeat(1024))]);
    const { ask } = createWorld(async () => new Response(body, { status: 400 }));
    const problem = await rejection(ask());
    assert.ok(problem instanceof ModelProblem && problem.statusCode === 400);
    assert.ok(isLeft());
  });

  check('that its caller leaves fails with the reason of the caller', async () => {
    const left = new Error('left');
    const { ask, leaving } = createWorld(() => new Promise(() => {}));
    const failing = rejection(ask());
    leaving.abort(left);
    assert.is(await failing, left);
    assert.is(await rejection(ask()), left);
  });
});
