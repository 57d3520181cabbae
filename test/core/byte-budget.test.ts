import * as assert from 'uvu/assert';
import { createByteBudget, createServiceBudget, UNCOUNTED_BYTES } from '../../src/core/byte-budget.ts';
import { describe, rejection, thorough } from '../check.ts';

const LIMIT_BYTES = 100_000;
const NEVER = new AbortController().signal;
/** Lets promises settle that are ready to. */
const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('a budget of bytes', (check) => {
  check('gives bytes until none are left, and takes them back once', () => {
    const budget = createByteBudget(LIMIT_BYTES);
    const release = budget.tryTake(60_000);
    assert.ok(release);
    assert.is(budget.tryTake(40_001), undefined);
    assert.ok(budget.tryTake(40_000));
    release();
    release();
    assert.is(budget.usedBytes(), 40_000);
  });

  check('admits those that wait in turn, and no one before them', async () => {
    const budget = createByteBudget(LIMIT_BYTES);
    const order: string[] = [];
    const first = await budget.take(90_000, NEVER);
    const second = budget.take(50_000, NEVER).then((release) => {
      order.push('second');
      return release;
    });
    const third = budget.take(5000, NEVER).then((release) => {
      order.push('third');
      return release;
    });
    await settle();
    assert.equal(order, []);
    assert.is(budget.tryTake(5000), undefined);
    first();
    await settle();
    assert.equal(order, ['second', 'third']);
    assert.is(budget.usedBytes(), 55_000);
    (await second)();
    (await third)();
    assert.is(budget.usedBytes(), 0);
  });

  check('gives what is larger than itself alone', async () => {
    const budget = createByteBudget(LIMIT_BYTES);
    const small = await budget.take(5000, NEVER);
    let isIn = false;
    const large = budget.take(10 * LIMIT_BYTES, NEVER).then((release) => {
      isIn = true;
      return release;
    });
    await settle();
    assert.is(isIn, false);
    small();
    (await large)();
    assert.is(isIn, true);
    assert.is(budget.usedBytes(), 0);
  });

  check('forgets those that stop waiting, and lets in who waited behind them', async () => {
    const budget = createByteBudget(LIMIT_BYTES);
    const left = new AbortController();
    await budget.take(50_000, NEVER);
    const large = rejection(budget.take(LIMIT_BYTES, left.signal));
    const small = budget.take(5000, NEVER);
    left.abort(new Error('left'));
    assert.is(String(await large), 'Error: left');
    await small;
    assert.is(budget.usedBytes(), 55_000);
    assert.is(String(await rejection(budget.take(5000, left.signal))), 'Error: left');
  });

  check('does not count a few kilobytes', async () => {
    const budget = createByteBudget(LIMIT_BYTES);
    await budget.take(LIMIT_BYTES, NEVER);
    void budget.take(LIMIT_BYTES, NEVER);
    assert.ok(budget.tryTake(UNCOUNTED_BYTES));
    (await budget.take(UNCOUNTED_BYTES, NEVER))();
    assert.is(budget.usedBytes(), LIMIT_BYTES);
  });

  check('is a tenth of the memory, what an operator has set, and at least the largest body', () => {
    const bytesOf = (budgetBytes: number | undefined, memoryBytes: number): number => {
      const budget = createServiceBudget({ limitBytes: 10_000, budgetBytes, memoryBytes });
      let bytes = 0;
      while (budget.tryTake(5000) !== undefined) bytes += 5000;
      return bytes;
    };
    assert.is(bytesOf(undefined, 400_000), 40_000);
    assert.is(bytesOf(20_000, 400_000), 20_000);
    assert.is(bytesOf(5000, 400_000), 10_000);
    assert.is(bytesOf(undefined, 1), 10_000);
  });

  check('never gives more than it has and loses nothing, in any order of events', async () => {
    const budget = createByteBudget(LIMIT_BYTES);
    const held: (() => void)[] = [];
    const leaving: AbortController[] = [];
    let waiting = 0;
    for (let round = 0; round < thorough(3000, 100_000); round += 1) {
      const kind = Math.random();
      const bytes = 4097 + Math.floor(Math.random() * 1.1 * LIMIT_BYTES);
      if (kind < 0.2) {
        const release = budget.tryTake(bytes);
        if (release !== undefined) held.push(release);
      } else if (kind < 0.45) {
        const controller = new AbortController();
        leaving.push(controller);
        waiting += 1;
        void budget.take(bytes, controller.signal).then(
          (release) => {
            waiting -= 1;
            held.push(release);
          },
          () => {
            waiting -= 1;
          },
        );
      } else if (kind < 0.55) leaving.splice(Math.floor(Math.random() * leaving.length), 1)[0]?.abort();
      else held.splice(Math.floor(Math.random() * held.length), 1)[0]?.();
      assert.ok(budget.usedBytes() <= LIMIT_BYTES);
      if (round % 10 === 0) await settle();
    }
    while (waiting + held.length > 0) {
      for (const release of held.splice(0)) release();
      await settle();
    }
    assert.is(budget.usedBytes(), 0);
  });
});
