import * as assert from 'uvu/assert';
import { createSemaphore } from '../../src/core/semaphore.ts';
import { describe } from '../check.ts';

const NEVER = new AbortController().signal;

describe('a borrowed place', (check) => {
  check('is one that is free', () => {
    const { tryBorrow, tryAcquire, running } = createSemaphore(2, 9);
    tryAcquire();
    const giveBack = tryBorrow(() => assert.unreachable());
    assert.is(running(), 2);
    assert.is(
      tryBorrow(() => {}),
      undefined,
    );
    giveBack?.();
    giveBack?.();
    assert.is(running(), 1);
  });
  check('goes at once to whoever needs it, and is given back only once', async () => {
    const { tryBorrow, acquire, tryAcquire, running, waiting } = createSemaphore(1, 9);
    let taken = 0;
    const giveBack = tryBorrow(() => {
      taken += 1;
    });
    const leave = await acquire(NEVER);
    assert.equal([taken, running(), waiting()], [1, 1, 0]);
    giveBack?.();
    assert.equal([running(), tryAcquire()], [1, undefined]);
    leave();
    assert.is(running(), 0);
    assert.type(tryAcquire(), 'function');
    assert.is(taken, 1);
  });
  check('is taken one by one, and only while none is free', () => {
    const taken: string[] = [];
    const { tryBorrow, tryAcquire } = createSemaphore(3, 9);
    tryBorrow(() => taken.push('a'));
    tryBorrow(() => taken.push('b'));
    tryAcquire();
    assert.equal(taken, []);
    tryAcquire();
    assert.equal(taken, ['a']);
    tryAcquire();
    assert.equal(taken, ['a', 'b']);
    assert.is(tryAcquire(), undefined);
  });
  check(
    'goes to nobody who is not there: a place that is left goes to who waits, before one can be borrowed',
    async () => {
      const { tryBorrow, acquire } = createSemaphore(1, 9);
      const leave = await acquire(NEVER);
      const next = acquire(NEVER);
      assert.is(
        tryBorrow(() => {}),
        undefined,
      );
      leave();
      assert.is(
        tryBorrow(() => {}),
        undefined,
      );
      (await next)();
      assert.type(
        tryBorrow(() => {}),
        'function',
      );
    },
  );
});
