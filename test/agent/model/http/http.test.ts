import * as assert from 'uvu/assert';
import { ModelError } from '../../../../src/agent/model/types.ts';
import { describe, rejection } from '../../../check.ts';
import { createWorld, EVENTS, endless } from './world.ts';

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
