import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import * as assert from 'uvu/assert';
import { createIdempotencyStore } from '../../../src/bridge/turn/idempotency.ts';
import { describe } from '../../check.ts';
import { createFakeClock } from '../../fake-clock.ts';
import { refusalOf } from '../harness/recorded-outputs.ts';

const marked = (key?: string, digest = 'this', isRetry = false) => ({ key, digest, isRetry });
const again = (digest = 'this') => marked(undefined, digest, true);

const createStore = () => {
  const clock = createFakeClock();
  return { clock, ...createIdempotencyStore<string>(clock) };
};

describe('a request that is sent again', (check) => {
  check('under the same key leads to the same, for its owner alone', () => {
    const { find, add } = createStore();
    assert.is(find('me', marked('k')), undefined);
    add('me', marked('k'), 'first');
    assert.is(find('me', marked('k')), 'first');
    assert.is(find('me', marked('k2')), undefined);
    assert.is(find('you', marked('k')), undefined);
    assert.is(find('me', marked()), undefined);
  });

  check('under the same key with another request is refused', () => {
    const { find, add } = createStore();
    add('me', marked('k'), 'first');
    assert.is(
      refusalOf(() => find('me', marked('k', 'other'))),
      'idempotency_key_reused at Idempotency-Key',
    );
    assert.is(find('you', marked('k', 'other')), undefined);
  });

  check('under a new key is a new one, also when the words were asked before', () => {
    const { find, add } = createStore();
    add('me', marked('k'), 'first');
    assert.is(find('me', marked('k2', 'this', true)), undefined);
  });

  check('by a client that says so leads to the same by what it asks, for its owner alone', () => {
    const { find, add } = createStore();
    add('me', marked(), 'first');
    assert.is(find('me', again()), 'first');
    assert.is(find('me', marked()), undefined);
    assert.is(find('me', again('other')), undefined);
    assert.is(find('you', again()), undefined);
    add('me', marked('k'), 'second');
    assert.is(find('me', again()), 'second');
  });

  check('leads to the same however long it is under way, and ten minutes from its end with a key', async () => {
    const { clock, find, add, settle } = createStore();
    add('me', marked('k'), 'first');
    await clock.advance(3_600_000);
    assert.is(find('me', marked('k')), 'first');
    settle('first', 'answered');
    await clock.advance(599_999);
    assert.is(find('me', marked('k')), 'first');
    await clock.advance(1);
    assert.is(find('me', marked('k', 'other')), undefined);
  });

  check('without a key leads to the same for seconds from its end: later the words are meant anew', async () => {
    const { clock, find, add, settle } = createStore();
    add('me', marked(), 'first');
    await clock.advance(3_600_000);
    assert.is(find('me', again()), 'first');
    settle('first', 'answered');
    await clock.advance(9999);
    assert.is(find('me', again()), 'first');
    await clock.advance(1);
    assert.is(find('me', again()), undefined);
  });

  check('leads to nothing that was dropped', () => {
    const { find, add, remove } = createStore();
    add('me', marked('k'), 'first');
    add('me', marked('other', 'other'), 'second');
    remove('first');
    assert.equal([find('me', marked('k')), find('me', again())], [undefined, undefined]);
    assert.is(find('me', marked('other', 'other')), 'second');
  });

  check('is found among the last 256 that have ended of its owner, and among all that are under way', () => {
    const { find, add, settle } = createStore();
    add('me', marked('slow', 'slow'), 'slow');
    for (let count = 0; count < 1000; count++) {
      add('me', marked(undefined, `ended ${count}`), `${count}`);
      settle(`${count}`, 'answered');
    }
    for (let count = 0; count < 1000; count++) add('you', marked(undefined, `${count}`), `you ${count}`);
    assert.is(find('me', marked('slow', 'slow')), 'slow');
    assert.equal([find('me', again('ended 10')), find('me', again('ended 999'))], [undefined, '999']);
    assert.is(find('you', again('0')), 'you 0');
  });

  check('keeps nothing alive whose time is over', async () => {
    const clock = createFakeClock();
    const { add, settle } = createIdempotencyStore<object>(clock);
    let value: object | undefined = { a: 'large answer' };
    const held = new WeakRef(value);
    add('me', marked('k'), value);
    settle(value, 'answered');
    value = undefined;
    await clock.advance(600_000);
    add('me', marked('other', 'other'), {});
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    await new Promise((resolve) => setImmediate(resolve));
    collect();
    assert.is(held.deref(), undefined);
  });

  check('and that failed is told its failure for a few seconds, also by a client that does not say so', async () => {
    const { clock, find, add, settle } = createStore();
    add('me', marked(), 'first');
    settle('other', 'failed');
    assert.is(find('me', marked()), undefined);
    settle('first', 'failed');
    await clock.advance(4999);
    assert.is(find('me', marked()), 'first');
    assert.is(find('me', marked(undefined, 'other')), undefined);
    assert.is(find('you', marked()), undefined);
    // Each time it comes it has a few seconds more.
    await clock.advance(4999);
    assert.is(find('me', marked()), 'first');
    await clock.advance(5000);
    assert.is(find('me', marked()), undefined);
  });

  check('is tried again in the end, however many ask', async () => {
    const { clock, find, add, settle } = createStore();
    add('me', marked(), 'first');
    settle('first', 'failed');
    let told = 0;
    for (let second = 0; second < 60; second++) {
      if (find('me', marked()) !== undefined) told = second;
      await clock.advance(1000);
    }
    assert.ok(told < 30, `${told}`);
  });
});
