import * as fc from 'fast-check';
import * as assert from 'uvu/assert';
import { Fault } from '../../src/core/fault.ts';
import { createSemaphore } from '../../src/core/semaphore.ts';
import { describe, rejection } from '../check.ts';
import { outcomeOf } from './harness/read-answer.ts';
import { gatewayOver, judging } from './harness/world.ts';

const HERE = new AbortController().signal;

describe('the gate', (check) => {
  check('lets so many in and has others wait, first come first served', async () => {
    const gate = createSemaphore(2, 3);
    const order: string[] = [];
    const enter = async (name: string) => {
      const leave = await gate.acquire(HERE);
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
    await gate.acquire(HERE);
    void gate.acquire(HERE);
    const thrown = await rejection(gate.acquire(HERE));
    assert.equal(thrown instanceof Fault && thrown.detail, { kind: 'overloaded', retryAfterMs: 1000 });
  });
  check('gives a place back once only', async () => {
    const gate = createSemaphore(1, 5);
    const leave = await gate.acquire(HERE);
    leave();
    leave();
    assert.is(gate.running(), 0);
    await gate.acquire(HERE);
    leave();
    assert.is(gate.running(), 1);
  });
  check('forgets who leaves the queue', async () => {
    const gate = createSemaphore(1, 2);
    const leave = await gate.acquire(HERE);
    const leaver = new AbortController();
    const leaving = rejection(gate.acquire(leaver.signal));
    const next = gate.acquire(HERE);
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

describe('backend calls', (check) => {
  check('are never more at the same time than MAX_CONCURRENCY', async () => {
    let [running, most] = [0, 0];
    const { ask } = gatewayOver(
      async (sent) => {
        running += 1;
        most = Math.max(most, running);
        await new Promise((resolve) => setImmediate(resolve));
        running -= 1;
        return judging()(sent);
      },
      { variables: { MAX_CONCURRENCY: '3' } },
    );
    const input = Array.from({ length: 15 }, (_, index) => `text ${index}`);
    assert.is(await outcomeOf(await ask({ input })), '200');
    assert.is(most, 3);
  });
  check('leave their place when they fail', async () => {
    const { ask } = gatewayOver(
      () => {
        throw new Error('a bug');
      },
      { variables: { MAX_CONCURRENCY: '1' } },
    );
    for (let index = 0; index < 10; index++) assert.is((await ask({ input: 'a' })).status, 500);
  });
});
