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

  check('admits those that wait in turn where they fit only one after the other', async () => {
    const budget = createByteBudget(LIMIT_BYTES);
    const order: number[] = [];
    const first = await budget.take(90_000, NEVER);
    const waiting = [1, 2, 3].map((position) =>
      budget.take(60_000, NEVER).then((release) => {
        order.push(position);
        return release;
      }),
    );
    await settle();
    assert.equal(order, []);
    first();
    for (const [index, one] of waiting.entries()) {
      await settle();
      assert.is(order.length, index + 1);
      (await one)();
    }
    assert.equal(order, [1, 2, 3]);
    assert.is(budget.usedBytes(), 0);
  });

  check('keeps bytes until others need them, and has the oldest dropped first', async () => {
    const budget = createByteBudget(LIMIT_BYTES);
    const dropped: string[] = [];
    const keep = (name: string) => budget.keep(30_000, () => dropped.push(name));
    const [first, second, third] = [keep('first'), keep('second'), keep('third')];
    assert.is(
      budget.keep(30_000, () => dropped.push('fourth')),
      undefined,
    );
    assert.is(budget.usedBytes(), 90_000);
    second?.();
    second?.();
    assert.is(budget.usedBytes(), 60_000);
    assert.is(budget.tryTake(LIMIT_BYTES + 1), undefined);
    assert.equal(dropped, []);
    const release = budget.tryTake(60_000);
    assert.equal([dropped, budget.usedBytes()], [['first'], 90_000]);
    first?.();
    assert.is(budget.usedBytes(), 90_000);
    release?.();
    (await budget.take(LIMIT_BYTES, NEVER))();
    third?.();
    assert.equal([dropped, budget.usedBytes()], [['first', 'third'], 0]);
  });

  check('keeps nothing while anything waits', async () => {
    const budget = createByteBudget(LIMIT_BYTES);
    const held = await budget.take(60_000, NEVER);
    let isDropped = false;
    assert.ok(
      budget.keep(10_000, () => {
        isDropped = true;
      }),
    );
    const waiting = budget.take(50_000, NEVER);
    assert.is(isDropped, true);
    assert.is(
      budget.keep(10_000, () => {}),
      undefined,
    );
    held();
    (await waiting)();
    assert.is(budget.usedBytes(), 0);
  });

  check('lets those that fit pass one that waits, as often as they leave what it needs', async () => {
    const budget = createByteBudget(LIMIT_BYTES);
    const held = await budget.take(60_000, NEVER);
    let isIn = false;
    void budget.take(60_000, NEVER).then(() => {
      isIn = true;
    });
    for (let count = 0; count < 100; count += 1) (await budget.take(40_000, NEVER))();
    const beside = await budget.take(40_000, NEVER);
    assert.is(isIn, false);
    held();
    await settle();
    assert.is(isIn, true);
    beside();
    assert.ok(budget.tryTake(40_000));
  });

  check('lets those that take what another waits for pass it a few times only', async () => {
    const budget = createByteBudget(LIMIT_BYTES);
    let held = await budget.take(50_000, NEVER);
    let isIn = false;
    void budget.take(LIMIT_BYTES, NEVER).then(() => {
      isIn = true;
    });
    let rounds = 0;
    for (; !isIn && rounds < 1000; rounds += 1) {
      const next = budget.take(50_000, NEVER);
      await settle();
      held();
      if (isIn) break;
      await settle();
      if (!isIn) held = await next;
    }
    assert.ok(isIn);
    assert.ok(rounds > 1 && rounds < 50);
  });

  check('takes a part back, and the rest later', async () => {
    const budget = createByteBudget(LIMIT_BYTES);
    const release = await budget.take(90_000, NEVER);
    const next = budget.take(50_000, NEVER);
    release(30_000);
    release(60_000);
    await next;
    assert.is(budget.usedBytes(), 80_000);
    release();
    release();
    assert.is(budget.usedBytes(), 50_000);
  });

  check('refuses what is larger than itself', async () => {
    const error = await rejection(createByteBudget(LIMIT_BYTES).take(LIMIT_BYTES + 1, NEVER));
    assert.instance(error, RangeError);
    assert.is(String(error), 'RangeError: 100001 bytes are more than the whole budget of 100000');
  });

  check('forgets those that stop waiting, and lets in who waited behind them', async () => {
    const budget = createByteBudget(LIMIT_BYTES);
    const left = new AbortController();
    const first = await budget.take(50_000, NEVER);
    const large = rejection(budget.take(LIMIT_BYTES, left.signal));
    const behind = budget.take(60_000, NEVER);
    left.abort(new Error('left'));
    assert.is(String(await large), 'Error: left');
    assert.is(budget.usedBytes(), 50_000);
    first();
    await behind;
    assert.is(budget.usedBytes(), 60_000);
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

  check('is a tenth of the memory, and at least the largest body', () => {
    const bytesOf = (memoryBytes: number): number => {
      const budget = createServiceBudget({ limitBytes: 10_000, memoryBytes });
      let bytes = 0;
      while (budget.tryTake(5000) !== undefined) bytes += 5000;
      return bytes;
    };
    assert.is(bytesOf(400_000), 40_000);
    assert.is(bytesOf(1), 10_000);
  });

  check('never gives more than it has and loses nothing, in any order of events', async () => {
    const budget = createByteBudget(LIMIT_BYTES);
    const held: (() => void)[] = [];
    const leaving: AbortController[] = [];
    let waiting = 0;
    for (let round = 0; round < thorough(500, 100_000); round += 1) {
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
