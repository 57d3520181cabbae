import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import * as assert from 'uvu/assert';
import { createRetries } from '../../src/bridge/retries.ts';
import { describe } from '../check.ts';
import { createFakeClock } from '../fake-clock.ts';
import { refusalOf } from './told.ts';

const marked = (key?: string, bodyDigest = 'body', isRetry = false) => ({ key, bodyDigest, isRetry });
const again = (bodyDigest = 'body') => marked(undefined, bodyDigest, true);

const retriesOf = () => {
  const clock = createFakeClock();
  return { clock, ...createRetries<string>(clock) };
};

describe('a request that is sent again', (check) => {
  check('under the same key leads to the same, for its owner alone', () => {
    const { earlier, keep } = retriesOf();
    assert.is(earlier('me', marked('k')), undefined);
    keep('me', marked('k'), 'first');
    assert.is(earlier('me', marked('k')), 'first');
    assert.is(earlier('me', marked('k2')), undefined);
    assert.is(earlier('you', marked('k')), undefined);
    assert.is(earlier('me', marked()), undefined);
  });

  check('under the same key with another body is refused', () => {
    const { earlier, keep } = retriesOf();
    keep('me', marked('k'), 'first');
    assert.is(
      refusalOf(() => earlier('me', marked('k', 'other'))),
      'idempotency_key_reused at Idempotency-Key',
    );
    assert.is(earlier('you', marked('k', 'other')), undefined);
  });

  check('by a client that says so leads to the same by its body, for its owner alone', () => {
    const { earlier, keep } = retriesOf();
    keep('me', marked(), 'first');
    assert.is(earlier('me', again()), 'first');
    assert.is(earlier('me', marked()), undefined);
    assert.is(earlier('me', again('other')), undefined);
    assert.is(earlier('you', again()), undefined);
    keep('me', marked('k'), 'second');
    assert.is(earlier('me', again()), 'second');
  });

  check('with a key that is new may still be one that was sent without', () => {
    const { earlier, keep } = retriesOf();
    keep('me', marked(), 'first');
    assert.is(earlier('me', marked('k', 'body', true)), 'first');
  });

  check('leads to the same for ten minutes', async () => {
    const { clock, earlier, keep } = retriesOf();
    keep('me', marked('k'), 'first');
    await clock.advance(599_999);
    assert.is(earlier('me', marked('k')), 'first');
    await clock.advance(1);
    assert.is(earlier('me', marked('k', 'other')), undefined);
    assert.is(earlier('me', again()), undefined);
  });

  check('leads to nothing that was dropped', () => {
    const { earlier, keep, drop } = retriesOf();
    keep('me', marked('k'), 'first');
    keep('me', marked('other', 'other'), 'second');
    drop('first');
    assert.equal([earlier('me', marked('k')), earlier('me', again())], [undefined, undefined]);
    assert.is(earlier('me', marked('other', 'other')), 'second');
  });

  check('leads to one of the last 256, or of half as many that came with keys', () => {
    const { earlier, keep } = retriesOf();
    for (let count = 0; count < 257; count++) keep('me', marked(undefined, `body ${count}`), `${count}`);
    assert.equal([earlier('me', again('body 0')), earlier('me', again('body 1'))], [undefined, '1']);
    for (let count = 0; count < 127; count++) keep('me', marked(`k${count}`, `b${count}`), `key ${count}`);
    assert.equal([earlier('me', again('body 254')), earlier('me', again('body 255'))], [undefined, '255']);
  });

  check('keeps nothing alive whose time is over', async () => {
    const clock = createFakeClock();
    const { keep } = createRetries<object>(clock);
    let value: object | undefined = { a: 'large answer' };
    const held = new WeakRef(value);
    keep('me', marked('k'), value);
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
    const { clock, earlier, keep, fail } = retriesOf();
    keep('me', marked(), 'first');
    fail('other');
    assert.is(earlier('me', marked()), undefined);
    fail('first');
    // Each time it comes it has a few seconds more.
    for (let time = 0; time < 3; time++) {
      await clock.advance(4999);
      assert.is(earlier('me', marked()), 'first');
    }
    assert.is(earlier('me', marked(undefined, 'other')), undefined);
    assert.is(earlier('you', marked()), undefined);
    await clock.advance(5000);
    assert.is(earlier('me', marked()), undefined);
    assert.is(earlier('me', again()), 'first');
  });

  check('that comes once more is among the newest', () => {
    const { earlier, keep } = retriesOf();
    keep('me', marked(undefined, 'a'), 'a');
    for (let count = 0; count < 255; count++) keep('me', marked(undefined, `${count}`), `${count}`);
    keep('me', marked(undefined, 'a'), 'a again');
    keep('me', marked(undefined, 'b'), 'b');
    assert.equal([earlier('me', again('a')), earlier('me', again('0'))], ['a again', undefined]);
  });
});
