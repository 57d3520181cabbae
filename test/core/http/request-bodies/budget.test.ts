import * as assert from 'uvu/assert';
import type { CoreFault } from '../../../../src/core/fault.ts';
import { describe, thorough } from '../../../check.ts';
import { createBodies, faultOf, KB, LIMIT_BYTES, openPosting, postingOf } from './world.ts';

/** A tenth of the memory. */
const BUDGET_BYTES = 200 * KB;
const OVERLOADED: CoreFault = { kind: 'overloaded', retryAfterMs: 1000 };

describe('the bodies of requests in flight', (check) => {
  check('are counted until their requests are answered', async () => {
    const { budget, bodies } = createBodies();
    const [first, second] = [postingOf(100 * KB), postingOf(60 * KB)];
    await Promise.all([bodies.readJson(first), bodies.readJson(second)]);
    assert.is(budget.usedBytes(), 160 * KB);
    bodies.release(first);
    assert.is(budget.usedBytes(), 60 * KB);
    bodies.release(first);
    bodies.release(second);
    assert.is(budget.usedBytes(), 0);
  });

  check('leave no space for another one above the budget, which is then not read', async () => {
    const { budget, bodies } = createBodies();
    const [first, second, third] = [postingOf(100 * KB), postingOf(100 * KB), postingOf(5 * KB)];
    await Promise.all([bodies.readJson(first), bodies.readJson(second)]);
    assert.is(budget.usedBytes(), BUDGET_BYTES);
    assert.equal(await faultOf(bodies.readJson(third)), OVERLOADED);
    assert.is(third.bodyUsed, false);
    bodies.release(third);
    assert.is(budget.usedBytes(), BUDGET_BYTES);
    bodies.release(first);
    assert.is(await bodies.readJson(postingOf(50 * KB)), 'x'.repeat(50 * KB - 2));
  });

  check('have room for the largest body whatever the memory', async () => {
    const { bodies } = createBodies({ memoryBytes: 8 });
    await bodies.readJson(postingOf(LIMIT_BYTES));
    assert.equal(await faultOf(bodies.readJson(postingOf(5 * KB))), OVERLOADED);
  });

  check(
    'are counted as they arrive where no length is declared, and read to their end when there is no space',
    async () => {
      const { budget, bodies } = createBodies();
      const held = postingOf(100 * KB);
      await bodies.readJson(held);
      await bodies.readJson(postingOf(90 * KB));
      const { request, send, end } = openPosting();
      const reading = faultOf(bodies.readJson(request));
      await send(`"${'x'.repeat(9 * KB - 1)}`);
      assert.is(budget.usedBytes(), 199 * KB);
      await send('x'.repeat(5 * KB));
      bodies.release(held);
      // The room that came back is no use to a body with a hole in it.
      await send(`${'x'.repeat(5 * KB)}"`);
      await end();
      assert.equal(await reading, OVERLOADED);
      bodies.release(request);
      assert.is(budget.usedBytes(), 90 * KB);
    },
  );

  check('of a few kilobytes are not counted, and find space when all is taken', async () => {
    const { budget, bodies } = createBodies();
    await bodies.readJson(postingOf(100 * KB));
    await bodies.readJson(postingOf(100 * KB));
    assert.is(await bodies.readJson(postingOf(4096)), 'x'.repeat(4094));
    assert.is(budget.usedBytes(), BUDGET_BYTES);
  });

  check('that are held stay counted beyond the answer', async () => {
    const { budget, bodies } = createBodies();
    const request = postingOf(100 * KB);
    await bodies.readJson(request);
    const release = bodies.hold(request);
    bodies.release(request);
    assert.is(budget.usedBytes(), 100 * KB);
    release();
    release();
    assert.is(budget.usedBytes(), 0);
  });

  check('never exceed the budget, and are all given back, in any order of events', async () => {
    const { budget, bodies } = createBodies();
    const open: (() => void)[] = [];
    for (let round = 0; round < thorough(300, 50_000); round += 1) {
      if (Math.random() < 0.6) {
        const request = postingOf(5 * KB + Math.floor(Math.random() * 95 * KB));
        const isRead = await bodies.readJson(request).then(
          () => true,
          () => false,
        );
        const release = Math.random() < 0.5 ? bodies.hold(request) : () => bodies.release(request);
        if (isRead) open.push(release);
        else release();
      } else open.splice(Math.floor(Math.random() * open.length), 1)[0]?.();
      assert.ok(budget.usedBytes() <= BUDGET_BYTES);
      assert.ok(budget.usedBytes() >= 0);
    }
    for (const release of open) release();
    assert.is(budget.usedBytes(), 0);
  });
});
