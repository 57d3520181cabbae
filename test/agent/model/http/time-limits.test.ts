import * as assert from 'uvu/assert';
import { createBackendFetch, type Fetcher } from '../../../../src/agent/model/http.ts';
import { ModelError } from '../../../../src/agent/model/types.ts';
import { describe, rejection } from '../../../check.ts';
import { createFakeClock } from '../../../fake-clock.ts';
import { createWorld, EVENTS, endless } from './world.ts';

describe('a fetch from a backend', (check) => {
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
});
