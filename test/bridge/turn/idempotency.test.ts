import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import * as assert from 'uvu/assert';
import { createIdempotencyStore } from '../../../src/bridge/turn/idempotency.ts';
import { describe } from '../../check.ts';
import { createFakeClock } from '../../fake-clock.ts';
import { refusalOf } from '../harness/recorded-outputs.ts';

const marked = (key?: string, digest = 'this', isRetry = false) => ({ key, digest, isRetry });
const again = (digest = 'this') => marked(undefined, digest, true);

const retriesOf = () => {
  const clock = createFakeClock();
  return { clock, ...createIdempotencyStore<string>(clock) };
};

describe('a request that is sent again', (check) => {
  check('under the same key leads to the same, for its owner alone', () => {
    const { find: earlier, add: keep } = retriesOf();
    assert.is(earlier('me', marked('k')), undefined);
    keep('me', marked('k'), 'first');
    assert.is(earlier('me', marked('k')), 'first');
    assert.is(earlier('me', marked('k2')), undefined);
    assert.is(earlier('you', marked('k')), undefined);
    assert.is(earlier('me', marked()), undefined);
  });

  check('under the same key with another request is refused', () => {
    const { find: earlier, add: keep } = retriesOf();
    keep('me', marked('k'), 'first');
    assert.is(
      refusalOf(() => earlier('me', marked('k', 'other'))),
      'idempotency_key_reused at Idempotency-Key',
    );
    assert.is(earlier('you', marked('k', 'other')), undefined);
  });

  check('under a new key is a new one, also when the words were asked before', () => {
    const { find: earlier, add: keep } = retriesOf();
    keep('me', marked('k'), 'first');
    assert.is(earlier('me', marked('k2', 'this', true)), undefined);
  });

  check('by a client that says so leads to the same by what it asks, for its owner alone', () => {
    const { find: earlier, add: keep } = retriesOf();
    keep('me', marked(), 'first');
    assert.is(earlier('me', again()), 'first');
    assert.is(earlier('me', marked()), undefined);
    assert.is(earlier('me', again('other')), undefined);
    assert.is(earlier('you', again()), undefined);
    keep('me', marked('k'), 'second');
    assert.is(earlier('me', again()), 'second');
  });

  check('leads to the same however long it is under way, and ten minutes from its end with a key', async () => {
    const { clock, find: earlier, add: keep, settle } = retriesOf();
    keep('me', marked('k'), 'first');
    await clock.advance(3_600_000);
    assert.is(earlier('me', marked('k')), 'first');
    settle('first', 'answered');
    await clock.advance(599_999);
    assert.is(earlier('me', marked('k')), 'first');
    await clock.advance(1);
    assert.is(earlier('me', marked('k', 'other')), undefined);
  });

  check('without a key leads to the same for seconds from its end: later the words are meant anew', async () => {
    const { clock, find: earlier, add: keep, settle } = retriesOf();
    keep('me', marked(), 'first');
    await clock.advance(3_600_000);
    assert.is(earlier('me', again()), 'first');
    settle('first', 'answered');
    await clock.advance(9999);
    assert.is(earlier('me', again()), 'first');
    await clock.advance(1);
    assert.is(earlier('me', again()), undefined);
  });

  check('leads to nothing that was dropped', () => {
    const { find: earlier, add: keep, remove: drop } = retriesOf();
    keep('me', marked('k'), 'first');
    keep('me', marked('other', 'other'), 'second');
    drop('first');
    assert.equal([earlier('me', marked('k')), earlier('me', again())], [undefined, undefined]);
    assert.is(earlier('me', marked('other', 'other')), 'second');
  });

  check('is found among the last 256 that have ended of its owner, and among all that are under way', () => {
    const { find: earlier, add: keep, settle } = retriesOf();
    keep('me', marked('slow', 'slow'), 'slow');
    for (let count = 0; count < 1000; count++) {
      keep('me', marked(undefined, `ended ${count}`), `${count}`);
      settle(`${count}`, 'answered');
    }
    for (let count = 0; count < 1000; count++) keep('you', marked(undefined, `${count}`), `you ${count}`);
    assert.is(earlier('me', marked('slow', 'slow')), 'slow');
    assert.equal([earlier('me', again('ended 10')), earlier('me', again('ended 999'))], [undefined, '999']);
    assert.is(earlier('you', again('0')), 'you 0');
  });

  check('keeps nothing alive whose time is over', async () => {
    const clock = createFakeClock();
    const { add: keep, settle } = createIdempotencyStore<object>(clock);
    let value: object | undefined = { a: 'large answer' };
    const held = new WeakRef(value);
    keep('me', marked('k'), value);
    settle(value, 'answered');
    value = undefined;
    await clock.advance(600_000);
    keep('me', marked('other', 'other'), {});
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    await new Promise((resolve) => setImmediate(resolve));
    collect();
    assert.is(held.deref(), undefined);
  });

  check('and that failed is told its failure for a few seconds, also by a client that does not say so', async () => {
    const { clock, find: earlier, add: keep, settle } = retriesOf();
    keep('me', marked(), 'first');
    settle('other', 'failed');
    assert.is(earlier('me', marked()), undefined);
    settle('first', 'failed');
    await clock.advance(4999);
    assert.is(earlier('me', marked()), 'first');
    assert.is(earlier('me', marked(undefined, 'other')), undefined);
    assert.is(earlier('you', marked()), undefined);
    // Each time it comes it has a few seconds more.
    await clock.advance(4999);
    assert.is(earlier('me', marked()), 'first');
    await clock.advance(5000);
    assert.is(earlier('me', marked()), undefined);
  });

  check('is tried again in the end, however many ask', async () => {
    const { clock, find: earlier, add: keep, settle } = retriesOf();
    keep('me', marked(), 'first');
    settle('first', 'failed');
    let told = 0;
    for (let second = 0; second < 60; second++) {
      if (earlier('me', marked()) !== undefined) told = second;
      await clock.advance(1000);
    }
    assert.ok(told < 30, `${told}`);
  });
});
