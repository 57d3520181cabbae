import * as assert from 'uvu/assert';
import { jsonResponseWhenReady } from '../../../src/agent/http/messages.ts';
import { describe } from '../../check.ts';
import { createFakeClock } from '../../fake-clock.ts';
import { until } from '../harness/permission-requests.ts';
import { createAgentWorld, prompt, replying, type Script } from '../harness/world.ts';

const patient = () => {
  const clock = createFakeClock();
  const answer = Promise.withResolvers<unknown>();
  const response = jsonResponseWhenReady(clock, answer.promise, (error) => ({ failed: String(error) }));
  return { clock, answer, response };
};

describe('an answer that takes its time', (check) => {
  check('sends its headers at once', async () => {
    const { response, clock } = patient();
    assert.is(response.status, 200);
    assert.is(response.headers.get('content-type'), 'application/json');
    assert.is(response.headers.get('cache-control'), 'no-store');
    await response.body?.cancel();
    assert.is(clock.pending(), 0);
  });

  check('breathes white space at once and every ten seconds, and is JSON all the same', async () => {
    const { clock, answer, response } = patient();
    const reader = response.body?.getReader();
    const collected: string[] = [];
    const reading = (async () => {
      for (;;) {
        const value = (await reader?.read())?.value;
        if (value === undefined) return;
        collected.push(new TextDecoder().decode(value));
      }
    })();
    await clock.advance(9_999);
    assert.equal(collected, [' ']);
    await clock.advance(2);
    assert.equal(collected, [' ', ' ']);
    await clock.advance(290_000);
    assert.equal(
      collected,
      Array.from({ length: 31 }, () => ' '),
    );
    answer.resolve({ text: 'ünï' });
    await reading;
    assert.equal(JSON.parse(collected.join('')), { text: 'ünï' });
    assert.is(clock.pending(), 0);
  });

  check('reports a failure in a text of its own', async () => {
    const { clock, answer, response } = patient();
    answer.reject(new Error('gone'));
    assert.equal(await response.json(), { failed: 'Error: gone' });
    assert.is(clock.pending(), 0);
  });

  check('lets a client leave without a word', async () => {
    for (const isFailure of [true, false]) {
      const { clock, answer, response } = patient();
      await response.body?.cancel();
      if (isFailure) answer.reject(new Error('gone'));
      else answer.resolve(1);
      await clock.advance(60_000);
      assert.is(clock.pending(), 0);
    }
  });

  check('is what a prompt gets', async () => {
    const gate = Promise.withResolvers<void>();
    const slow: Script = async function* (request, signal) {
      await gate.promise;
      yield* replying('at last')(request, signal);
    };
    const world = await createAgentWorld({ scripts: [slow] });
    const response = await world.call('POST', `/session/${await world.session()}/message`, prompt('hi'));
    assert.is(response.status, 200);
    assert.is(world.asked.length, 0);
    await world.clock.advance(25_000);
    gate.resolve();
    const text = await response.text();
    assert.match(text, /^ {3}\{"info"/);
    JSON.parse(text);
  });

  check('comes a moment after the events before it, however long it takes to read it', async () => {
    const { store } = await createAgentWorld();
    const eventsRead: string[] = [];
    const hasIdle = (): boolean => eventsRead.some((text) => text.includes('"session.idle"'));
    const world = await createAgentWorld({
      titler: null,
      store: {
        ...store,
        async message(...given) {
          // The client has been sent everything by then.
          for (let turns = 0; turns < 1000 && !hasIdle(); turns++)
            await new Promise((resolve) => setImmediate(resolve));
          return store.message(...given);
        },
      },
    });
    const stream = await world.call('GET', '/event');
    const reader = stream.body?.pipeThrough(new TextDecoderStream()).getReader();
    void (async () => {
      for (let next = await reader?.read(); next?.done === false; next = await reader?.read())
        eventsRead.push(next.value);
    })();
    const response = await world.call('POST', `/session/${await world.session()}/message`, prompt('hi'));
    let answer: string | undefined;
    const reading = response.text().then((text) => {
      answer = text;
    });
    await until(world, hasIdle);
    for (let turns = 0; turns < 100; turns++) await new Promise((resolve) => setImmediate(resolve));
    assert.is(answer, undefined);
    await world.clock.advance(25);
    await reading;
    assert.match(answer ?? '', '"hello"');
    await reader?.cancel();
  });

  check('says in the words of the wire that the store failed', async () => {
    const { store } = await createAgentWorld();
    let isBroken = false;
    const world = await createAgentWorld({
      store: {
        ...store,
        async commit(...given) {
          if (isBroken) throw new Error('secret disk words');
          return store.commit(...given);
        },
      },
      scripts: [
        async function* (request, signal) {
          isBroken = true;
          yield* replying('never kept')(request, signal);
        },
      ],
    });
    const id = await world.session();
    const response = await world.call('POST', `/session/${id}/message`, prompt('hi'));
    assert.equal(await response.json(), {
      name: 'UnknownError',
      data: { message: 'The server failed in a way it should not' },
    });
    isBroken = false;
    assert.equal(await world.get('/session/status'), {});
    assert.not.ok(world.logged.some((line) => line.includes('secret')));
    await until(world, () => world.logged.some((line) => line.includes('"bug"')));
  });
});
