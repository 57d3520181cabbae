import * as assert from 'uvu/assert';
import { createBackendFetch, type Fetcher } from '../../../src/agent/model/http.ts';
import { ModelError } from '../../../src/agent/model/types.ts';
import { describe, rejection } from '../../check.ts';
import { createFakeClock } from '../../fake-clock.ts';

const EVENTS = { headers: { 'content-type': 'text/event-stream' } };

/** A backend fetch over `fetcher`, with what it was given and a count of listeners on the caller's signal. */
const createWorld = (fetcher: Fetcher, limits = { headerMs: 100, gapMs: 100, wholeMs: 0 }) => {
  const clock = createFakeClock();
  const signals: AbortSignal[] = [];
  const noted: Fetcher = (url, init) => {
    if (init.signal) signals.push(init.signal);
    return fetcher(url, init);
  };
  const ask = createBackendFetch(
    { fetcher: noted, clock, userAgent: 'us/1', limits },
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
    ask: () => ask('http://model.test/v1', { body: '{}', signal: leaving.signal }),
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

  check('that no one reads on is broken off', async () => {
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
      assert.instance(await failing, ModelError);
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
    assert.ok(problem instanceof ModelError && problem.kind === 'network');
    assert.equal([listeners(), isLeft()], [0, true]);
    assert.equal(isBrokenOff(), [true]);
  });

  check('is silent for as long as it may, before its answer and within it', async () => {
    const limits = { headerMs: 50, gapMs: 200, wholeMs: 0 };
    const silent = createWorld(() => new Promise(() => {}), limits);
    const unanswered = rejection(silent.ask());
    await silent.clock.advance(50);
    assert.match(String(await unanswered), 'The provider "acme" was silent for 50 ms');
    const { body } = endless(['data: x\n\n']);
    const begun = createWorld(async () => new Response(body, EVENTS), limits);
    const reading = rejection((await begun.ask()).text());
    await begun.clock.advance(199);
    assert.is(begun.clock.pending(), 1);
    await begun.clock.advance(1);
    assert.match(String(await reading), 'The provider "acme" was silent for 200 ms');
  });

  check(
    'says nothing with comments and empty lines, however many it sends, and breaks no silence with them',
    async () => {
      const pushed = Promise.withResolvers<ReadableStreamDefaultController<Uint8Array>>();
      const body = new ReadableStream<Uint8Array>({ start: pushed.resolve });
      const { ask, clock } = createWorld(async () => new Response(body, EVENTS));
      const stream = await pushed.promise;
      const reading = rejection((await ask()).text());
      const send = async (text: string, thenMs: number) => {
        stream.enqueue(new TextEncoder().encode(text));
        await clock.advance(thenMs);
      };
      // Whatever is of an event keeps it alive, also in pieces.
      for (const text of ['data: x\n\n', ': hm\n\nda', 'ta: y\n', 'event: z\n']) await send(text, 90);
      await send('data: z\n', 0);
      for (const text of [': still ', 'here\n', '\r\n', ':\n\n']) await send(text, 20);
      let isOver = false;
      void reading.then(() => {
        isOver = true;
      });
      await clock.advance(19);
      assert.not.ok(isOver);
      await clock.advance(1);
      assert.match(String(await reading), 'The provider "acme" was silent for 100 ms');
    },
  );

  check('is not silent while no one reads', async () => {
    const { body } = endless([': a\n', ': b\n', 'data: x\n\n']);
    const { ask, clock } = createWorld(async () => new Response(body, EVENTS));
    const reader = (await ask()).body?.getReader();
    for (let count = 0; count < 3; count++) {
      assert.ok(((await reader?.read())?.value?.byteLength ?? 0) > 0);
      await clock.advance(99);
    }
    await reader?.cancel();
  });

  check('has as long as it wants where nothing is limited', async () => {
    const { body } = endless(['data: x\n\n']);
    const limits = { headerMs: 0, gapMs: 0, wholeMs: 0 };
    const { ask, clock, leaving } = createWorld(async () => new Response(body, EVENTS), limits);
    const reading = rejection((await ask()).text());
    await clock.advance(86_400_000);
    assert.is(clock.pending(), 0);
    leaving.abort(new Error('left'));
    assert.match(String(await reading), 'left');
  });

  check('that goes on sending is broken off when its time is over, and may be tried again', async () => {
    const clock = createFakeClock();
    const sending = () => {
      let hush = () => {};
      return new ReadableStream<Uint8Array>({
        pull: (controller) =>
          new Promise<void>((resolve) => {
            hush = clock.after(40, () => {
              controller.enqueue(new TextEncoder().encode('data: x\n\n'));
              resolve();
            });
          }),
        cancel: () => hush(),
      });
    };
    const stages: readonly Fetcher[] = [
      () => new Promise(() => {}),
      async () => new Response(sending(), EVENTS),
      async () => new Response(sending(), { headers: { 'content-type': 'application/json' } }),
    ];
    for (const fetcher of stages) {
      const ask = createBackendFetch(
        { fetcher, clock, userAgent: 'us/1', limits: { headerMs: 0, gapMs: 100, wholeMs: 250 } },
        { providerID: 'acme', apiKey: 'k', headers: {} },
      );
      const asked = rejection(
        ask('http://model.test/v1', { body: '{}', signal: new AbortController().signal }).then((response) =>
          response.text(),
        ),
      );
      await clock.advance(249);
      await clock.advance(1);
      const problem = await asked;
      assert.ok(problem instanceof ModelError && problem.kind === 'network' && problem.isRetryable);
      assert.is(problem.message, 'The provider "acme" was not done after 250 ms');
    }
  });

  check('lets go of its time when it is over early, however it ends', async () => {
    const limits = { headerMs: 100, gapMs: 100, wholeMs: 1000 };
    const read = createWorld(async () => new Response('data: x\n\n', EVENTS), limits);
    await (await read.ask()).text();
    assert.is(read.clock.pending(), 0);
    const refused = createWorld(async () => new Response('{}', { status: 500 }), limits);
    await rejection(refused.ask());
    assert.is(refused.clock.pending(), 0);
    const cancelled = createWorld(async () => new Response(endless(['data: x\n\n']).body, EVENTS), limits);
    await (await cancelled.ask()).body?.cancel();
    assert.is(cancelled.clock.pending(), 0);
    // Nobody reads what has come, so nothing is asked of the backend that could fail.
    const left = createWorld(async () => new Response(endless(['data: x\n\n']).body, EVENTS), limits);
    await left.ask();
    await left.clock.advance(0);
    left.leaving.abort(new Error('left'));
    await left.clock.advance(0);
    assert.is(left.clock.pending(), 0);
  });

  check('that never stops sending is given up', async () => {
    const { body, isLeft } = endless(Array.from({ length: 70 }, () => `${'x'.repeat(1024 * 1024 - 1)}\n`));
    const { ask } = createWorld(async () => new Response(body, EVENTS));
    const problem = await rejection((await ask()).text());
    assert.ok(problem instanceof ModelError && !problem.isRetryable);
    assert.match(problem.message, 'more than 67108864 bytes');
    assert.ok(isLeft());
  });

  check('that comes in one endless line, or in one large piece, is given up much earlier', async () => {
    const pieces = () => endless(Array.from({ length: 10 }, () => 'x'.repeat(1024 * 1024)));
    const line = pieces();
    const streamed = createWorld(async () => new Response(line.body, EVENTS));
    const problem = await rejection((await streamed.ask()).text());
    assert.ok(problem instanceof ModelError && !problem.isRetryable);
    assert.match(problem.message, 'a line of more than 8388608 bytes');
    assert.ok(line.isLeft());
    const whole = pieces();
    const json = { headers: { 'content-type': 'application/json' } };
    const answered = createWorld(async () => new Response(whole.body, json));
    const refusal = await rejection(answered.ask());
    assert.ok(refusal instanceof ModelError && !refusal.isRetryable);
    assert.match(refusal.message, 'more than 8388608 bytes');
    assert.ok(whole.isLeft());
  });

  check('may have lines of any number, each of them short', async () => {
    const text = `${'x'.repeat(1024 * 1024)}\n`.repeat(20);
    const { ask } = createWorld(async () => new Response(text, EVENTS));
    assert.is((await (await ask()).text()).length, text.length);
  });

  check('that refuses at length is read only so far', async () => {
    const start = '{"error":{"code":"context_length_exceeded","message":"';
    const { body, isLeft } = endless([start, ...Array.from({ length: 70 }, () => 'x'.repeat(1024))]);
    const { ask } = createWorld(async () => new Response(body, { status: 400 }));
    const problem = await rejection(ask());
    assert.ok(problem instanceof ModelError && problem.statusCode === 400);
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
