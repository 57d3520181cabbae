import * as assert from 'uvu/assert';
import { describe } from '../../check.ts';
import { resultsOf } from '../harness/read-answer.ts';
import { type Answer, received } from '../harness/world.ts';
import { BODY, hangs, says, shadowed } from './world.ts';

describe('the shadow gives way', (check) => {
  check('to a request that needs its place, at once', async () => {
    const world = shadowed({ shadow: hangs }, {}, { variables: { MAX_CONCURRENCY: '1' } });
    await world.ask(BODY);
    await world.clock.advance(0);
    assert.is(world.shadowCalls()[0]?.signal.aborted, false);
    await resultsOf(await world.ask({ ...BODY, input: 'another text' }));
    assert.is(world.shadowCalls()[0]?.signal.aborted, true);
    assert.equal(world.counted[0], 'skipped');
  });
  check('also with the call that tries its backend after a rest', async () => {
    let isDown = true;
    const shadow: Answer = (sent) => (isDown ? received(500, 'down') : hangs(sent));
    const world = shadowed({ shadow }, {}, { variables: { MAX_CONCURRENCY: '1' } });
    for (let time = 0; time < 5; time += 1) {
      await world.ask({ ...BODY, input: `text ${time}` });
      await world.clock.advance(0);
    }
    isDown = false;
    await world.clock.advance(2_000);
    await world.ask(BODY);
    await world.clock.advance(0);
    const trial = world.shadowCalls().at(-1);
    assert.is(trial?.signal.aborted, false);
    await resultsOf(await world.ask({ ...BODY, input: 'another text' }));
    assert.is(trial?.signal.aborted, true);
  });
  check('to requests that wait', async () => {
    const world = shadowed(
      { live: (sent) => ((sent.body ?? '').includes('slow') ? hangs(sent) : says()(sent)), shadow: hangs },
      {},
      { variables: { MAX_CONCURRENCY: '2' } },
    );
    const slow = [1, 2, 3].map((number) => world.ask({ ...BODY, input: `slow ${number}` }));
    await world.clock.advance(0);
    await world.clock.advance(25_000);
    await Promise.all(slow);
    assert.equal([world.shadowCalls().length, world.counted], [0, []]);
  });
  check('to its own limit: more texts than calls are skipped, and wait nowhere', async () => {
    const { ask, clock, counted, shadowCalls } = shadowed({ shadow: hangs }, { calls: 2 });
    await ask({ ...BODY, input: ['one', 'two', 'three', 'four', 'five'] });
    await clock.advance(0);
    assert.equal([shadowCalls().length, counted], [2, ['skipped', 'skipped', 'skipped']]);
  });
  check('in a long text: no more calls at once than it may have', async () => {
    let running = 0;
    let most = 0;
    const shadow: Answer = async (sent) => {
      running += 1;
      most = Math.max(most, running);
      await new Promise((resolve) => setImmediate(resolve));
      running -= 1;
      return says({ HA: 90 })(sent);
    };
    const world = shadowed({ shadow }, { calls: 2 }, { variables: { MODERATION_WINDOW_CHARS: '1000' } });
    await world.ask({ ...BODY, input: 'calm words '.repeat(600) });
    for (let turn = 0; turn < 20; turn += 1) await world.clock.advance(0);
    assert.is(most, 2);
    assert.ok(world.shadowCalls().length > 5);
    assert.equal(world.counted, ['differed']);
  });
  check('to bodies that need the memory it holds, the oldest text first', async () => {
    const variables = { MAX_BODY_BYTES: '20000', MAX_INPUT_CHARS: '20000' };
    const world = shadowed({ shadow: hangs }, { calls: 64 }, { variables, needs: { memoryBytes: 200_000 } });
    const askLong = (sign: string) => world.ask({ ...BODY, input: `${sign} `.repeat(4500) });
    for (const sign of ['a', 'b']) {
      await resultsOf(await askLong(sign));
      await world.clock.advance(0);
    }
    const givenUp = (sign: string) =>
      world
        .shadowCalls()
        .filter(({ body = '' }) => body.includes(`${sign} ${sign} `))
        .map(({ signal }) => signal.aborted);
    assert.ok(givenUp('b').length > 0);
    assert.not([...givenUp('a'), ...givenUp('b')].includes(true));
    await resultsOf(await askLong('c'));
    assert.ok(givenUp('a').length > 0 && !givenUp('a').includes(false));
    assert.not(givenUp('b').includes(true));
    assert.equal(world.counted, ['skipped']);
  });
  check('when the process stops: what runs is ended, and nothing begins', async () => {
    const stop = new AbortController();
    let isStopping = false;
    const world = shadowed({ shadow: hangs }, {}, { needs: { stopSignal: stop.signal, isStopping: () => isStopping } });
    await world.ask(BODY);
    await world.clock.advance(0);
    isStopping = true;
    await world.ask({ ...BODY, input: 'another' });
    stop.abort();
    await world.clock.advance(0);
    assert.equal([world.shadowCalls().map(({ signal }) => signal.aborted), world.counted], [[true], ['skipped']]);
    assert.is(world.clock.pending(), 0);
  });
  check('after the time of a request', async () => {
    const { ask, clock, counted, shadowCalls } = shadowed(
      { shadow: hangs },
      {},
      { variables: { REQUEST_DEADLINE_MS: '9000' } },
    );
    await ask(BODY);
    await clock.advance(8999);
    assert.equal(counted, []);
    await clock.advance(1);
    assert.equal([counted, shadowCalls().every(({ signal }) => signal.aborted)], [['failed'], true]);
    assert.is(clock.pending(), 0);
  });
});
