import * as fc from 'fast-check';
import * as assert from 'uvu/assert';
import { Fault } from '../../src/core/fault.ts';
import { createSemaphore } from '../../src/core/semaphore.ts';
import { describe, rejection } from '../check.ts';

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

describe('a semaphore', (check) => {
  check('lets so many in and has others wait, first come first served', async () => {
    const gate = createSemaphore(2, 3);
    const order: string[] = [];
    const enter = async (name: string) => {
      const leave = await gate.acquire(NEVER);
      order.push(name);
      return leave;
    };
    const [first] = await Promise.all([enter('a'), enter('b')]);
    const waiting = [enter('c'), enter('d'), enter('e')];
    assert.equal([gate.running(), gate.waiting()], [2, 3]);
    first?.();
    (await waiting[0])?.();
    await waiting[1];
    assert.equal(order, ['a', 'b', 'c', 'd']);
    assert.equal([gate.running(), gate.waiting()], [2, 1]);
  });
  check('refuses anyone who comes when its queue is full', async () => {
    const gate = createSemaphore(1, 1);
    await gate.acquire(NEVER);
    void gate.acquire(NEVER);
    const thrown = await rejection(gate.acquire(NEVER));
    assert.equal(thrown instanceof Fault && thrown.detail, { kind: 'overloaded', retryAfterMs: 1000 });
  });
  check('gives a place back once only', async () => {
    const gate = createSemaphore(1, 5);
    const leave = await gate.acquire(NEVER);
    leave();
    leave();
    assert.is(gate.running(), 0);
    await gate.acquire(NEVER);
    leave();
    assert.is(gate.running(), 1);
  });
  check('forgets who leaves the queue', async () => {
    const gate = createSemaphore(1, 2);
    const leave = await gate.acquire(NEVER);
    const leaver = new AbortController();
    const leaving = rejection(gate.acquire(leaver.signal));
    const next = gate.acquire(NEVER);
    leaver.abort(new Error('left'));
    assert.match(String(await leaving), 'left');
    assert.is(gate.waiting(), 1);
    leave();
    await next;
    assert.is(gate.running(), 1);
  });
  check('does not let in who has left already', async () => {
    const gate = createSemaphore(1, 1);
    await rejection(gate.acquire(AbortSignal.abort()));
    assert.equal([gate.running(), gate.waiting()], [0, 0]);
  });
  check('gives a place that is free at once to work that is not needed, and no other', async () => {
    const gate = createSemaphore(1, 1);
    const leave = gate.tryAcquire();
    assert.ok(leave);
    assert.is(gate.tryAcquire(), undefined);
    assert.is(gate.waiting(), 0);
    leave?.();
    assert.ok(gate.tryAcquire());
  });
  check('never has more inside than it has places, and loses none', async () => {
    const moves = fc.array(fc.constantFrom('enter', 'leave', 'abort', 'try'), { maxLength: 60 });
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 4 }), fc.nat(4), moves, async (places, queueLimit, steps) => {
        const gate = createSemaphore(places, queueLimit);
        const inside: (() => void)[] = [];
        const waiting: AbortController[] = [];
        for (const step of steps) {
          if (step === 'enter') {
            const caller = new AbortController();
            waiting.push(caller);
            gate.acquire(caller.signal).then(
              (leave) => inside.push(leave),
              () => {},
            );
          } else if (step === 'try') {
            const leave = gate.tryAcquire();
            if (leave !== undefined) inside.push(leave);
          } else if (step === 'leave') inside.shift()?.();
          else waiting.shift()?.abort();
          await Promise.resolve().then(() => {});
          assert.ok(gate.running() <= places && gate.waiting() <= queueLimit);
          assert.ok(gate.waiting() === 0 || gate.running() === places, 'nobody waits while a place is free');
        }
        for (const caller of waiting) caller.abort();
        await new Promise((resolve) => setImmediate(resolve));
        for (const leave of inside) leave();
        assert.equal([gate.running(), gate.waiting()], [0, 0]);
      }),
      { numRuns: 60 },
    );
  });
});
