import fc from 'fast-check';
import * as assert from 'uvu/assert';
import { HttpClientError } from '../../../src/core/http/client.ts';
import { describe, thorough } from '../../check.ts';
import { resultsOf } from '../harness/read-answer.ts';
import { type Answer, gatewayOver, received, replying } from '../harness/world.ts';
import { BODY, hangs, says, shadowed } from './world.ts';

describe('a shadow that fails', (check) => {
  const REFUSALS: Readonly<Record<string, Answer>> = {
    'a burst limit': () => received(429, 'slow down', { 'retry-after': '60' }),
    'a used-up quota': () => received(429, 'you have reached your weekly usage limit'),
    'a wrong key': () => received(401, 'unauthorized'),
    'a broken server': () => received(500, 'no'),
    'a missing model': () => received(404, '{"error":"model not found"}'),
  };
  for (const [name, shadow] of Object.entries(REFUSALS))
    check(`makes no key and no backend rest for clients: ${name}`, async () => {
      const world = shadowed({ shadow });
      for (let time = 0; time < 8; time += 1) {
        const answer = await world.ask({ ...BODY, input: `text ${time}` });
        assert.is(answer.status, 200);
        await world.clock.advance(0);
      }
      const body = await (await world.visit('/ready')).text();
      assert.not.match(body, /cooling|several times/);
      assert.is(world.counted.length, 8);
      assert.ok(world.counted.every((outcome) => outcome === 'failed' || outcome === 'skipped'));
    });
  check('does not use a key that rests for clients', async () => {
    let isRefusing = true;
    const live: Answer = (sent) => (isRefusing ? received(429, 'weekly usage limit') : says()(sent));
    const world = shadowed({ live }, {}, { variables: { BACKEND_API_KEYS: 'one,two' } });
    assert.is((await world.ask(BODY)).status, 503);
    isRefusing = false;
    await world.clock.advance(4_000_000);
    const before = world.shadowCalls().length;
    assert.is(before, 0);
    await resultsOf(await world.ask(BODY));
    await world.clock.advance(0);
    assert.is(world.shadowCalls().length, 1);
  });
  check('leaves nothing in the cache of clients', async () => {
    const world = shadowed({ shadow: says({ HA: 90 }) });
    await world.ask(BODY);
    await world.clock.advance(0);
    const answer = await world.ask({ ...BODY, model: 'moderation-accurate' });
    assert.is(answer.headers.get('x-moderation-cache'), 'miss');
  });

  /** What a shadow's backend may do, by number. */
  const MISCHIEF: readonly Answer[] = [
    says(),
    says({ HA: 99 }),
    hangs,
    () => received(500, 'no'),
    () => received(429, 'slow down'),
    () => received(401, 'unauthorized'),
    () => received(200, 'not even JSON'),
    (sent) => replying(sent, '{}'),
    () => {
      throw new HttpClientError('ECONNRESET');
    },
    () => {
      throw new TypeError('a bug of the client');
    },
  ];
  check('changes no answer and delays none, whatever it does', async () => {
    const seen = (answer: Response) =>
      [...answer.headers].filter(([name]) => name !== 'x-request-id' && name !== 'content-length');
    await fc.assert(
      fc.asyncProperty(
        fc.array(
          fc.record({
            mischief: fc.nat(MISCHIEF.length - 1),
            text: fc.constantFrom('one', 'two', 'three', 'four', `${'long words '.repeat(250)}`),
            model: fc.constantFrom('moderation-fast', 'moderation-accurate', 'moderation-standard'),
            waitMs: fc.constantFrom(0, 10, 30_000),
          }),
          { minLength: 1, maxLength: 8 },
        ),
        fc.integer({ min: 1, max: 3 }),
        async (steps, places) => {
          let isShadowTurn = false;
          let mischief = 0;
          const live = says({ HA: 70 });
          const variables = { MAX_CONCURRENCY: String(places), MODERATION_WINDOW_CHARS: '1000' };
          const plain = gatewayOver(live, { variables });
          const world = shadowed(
            { live, shadow: (sent) => (isShadowTurn ? (MISCHIEF[mischief] ?? live)(sent) : live(sent)) },
            { calls: 2 },
            { variables },
          );
          for (const step of steps) {
            mischief = step.mischief;
            const body = { model: step.model, input: step.text };
            isShadowTurn = false;
            // Without moving the clock: nothing of an answer may wait for a timer.
            const [expected, given] = await Promise.all([plain.ask(body), world.ask(body)]);
            isShadowTurn = true;
            assert.equal([given.status, seen(given)], [expected.status, seen(expected)]);
            assert.equal(await resultsOf(given), await resultsOf(expected));
            await Promise.all([plain.clock.advance(step.waitMs), world.clock.advance(step.waitMs)]);
          }
          await Promise.all([plain.clock.advance(60_000), world.clock.advance(60_000)]);
          assert.is(world.clock.pending(), 0, 'everything has ended');
        },
      ),
      { numRuns: thorough(15, 1000) },
    );
  });
});
