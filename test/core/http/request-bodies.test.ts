import * as assert from 'uvu/assert';
import { createServiceBudget, type MemoryBounds } from '../../../src/core/byte-budget.ts';
import { type CoreFault, Fault } from '../../../src/core/fault.ts';
import { guard } from '../../../src/core/http/handler.ts';
import { createRequestBodies } from '../../../src/core/http/request-bodies.ts';
import { jsonResponse } from '../../../src/core/http/response.ts';
import { createTimeSlices } from '../../../src/core/time-slices.ts';
import { describe, rejection, thorough } from '../../check.ts';
import { createFakeClock } from '../../fake-clock.ts';

const KB = 1000;
const LIMIT_BYTES = 100 * KB;
const MEMORY_BYTES = 2000 * KB;
/** A tenth of the memory. */
const BUDGET_BYTES = 200 * KB;
const OVERLOADED: CoreFault = { kind: 'overloaded', retryAfterMs: 1000 };

const faultOf = async (reading: Promise<unknown>): Promise<CoreFault> => {
  const thrown = await rejection(reading);
  if (thrown instanceof Fault) return thrown.detail;
  throw thrown;
};
const textOf = (bytes: number): string => JSON.stringify('x'.repeat(bytes - 2));
const postingOf = (bytes: number): Request =>
  new Request('http://service.test/', {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'content-length': String(bytes) },
    body: textOf(bytes),
  });
/** A body without a length. `send` sends a chunk, `end` ends it. */
const openPosting = () => {
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>(undefined, { highWaterMark: 10 });
  const writer = writable.getWriter();
  const request = new Request('http://service.test/', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: readable,
    duplex: 'half',
  } as RequestInit);
  return {
    request,
    async send(text: string) {
      await writer.write(new TextEncoder().encode(text));
      // A stream hands a chunk on over several turns of the event loop.
      for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    },
    end: () => writer.close(),
  };
};
const createBodies = (bounds: Partial<MemoryBounds> = {}) => {
  const clock = createFakeClock();
  const budget = createServiceBudget({
    limitBytes: LIMIT_BYTES,
    budgetBytes: undefined,
    memoryBytes: MEMORY_BYTES,
    ...bounds,
  });
  return {
    clock,
    budget,
    bodies: createRequestBodies({ clock, limitBytes: LIMIT_BYTES, budget, runInSlices: createTimeSlices(clock) }),
  };
};

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

  check('have the budget that an operator has set', async () => {
    const { bodies } = createBodies({ budgetBytes: 150 * KB });
    await bodies.readJson(postingOf(100 * KB));
    assert.equal(await faultOf(bodies.readJson(postingOf(51 * KB))), OVERLOADED);
    await bodies.readJson(postingOf(50 * KB));
  });

  check('have room for the largest body whatever the memory and the setting', async () => {
    for (const needs of [{ memoryBytes: 8 }, { budgetBytes: 1 }]) {
      const { bodies } = createBodies(needs);
      await bodies.readJson(postingOf(LIMIT_BYTES));
      assert.equal(await faultOf(bodies.readJson(postingOf(5 * KB))), OVERLOADED);
    }
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

  check('that still arrive when their request is answered are counted no more', async () => {
    const { clock, budget, bodies } = createBodies();
    const { request, send } = openPosting();
    const reading = faultOf(bodies.readJson(request));
    await send(`"${'x'.repeat(8 * KB - 1)}`);
    assert.is(budget.usedBytes(), 8 * KB);
    await clock.advance(30_000);
    assert.equal(await reading, { kind: 'body-too-slow' });
    bodies.release(request);
    assert.is(budget.usedBytes(), 0);
    await send('x'.repeat(8 * KB));
    await clock.advance(0);
    assert.is(budget.usedBytes(), 0);
  });

  check('may take 30 s, or as long as a deadline of the service says', async () => {
    const { clock, bodies } = createBodies();
    const deadline = new AbortController();
    const waiting = openPosting();
    const given = openPosting();
    let isLate = false;
    const slow = faultOf(bodies.readJson(waiting.request)).finally(() => {
      isLate = true;
    });
    const timed = bodies.readJson(given.request, deadline.signal);
    await clock.advance(29_999);
    assert.is(isLate, false);
    await clock.advance(1);
    assert.equal(await slow, { kind: 'body-too-slow' });
    await given.send('1');
    deadline.abort();
    assert.equal(await faultOf(timed), { kind: 'body-too-slow' });
    assert.is(clock.pending(), 0);
  });

  check('of a few kilobytes are not counted, and find space when all is taken', async () => {
    const { budget, bodies } = createBodies();
    await bodies.readJson(postingOf(100 * KB));
    await bodies.readJson(postingOf(100 * KB));
    assert.is(await bodies.readJson(postingOf(4096)), 'x'.repeat(4094));
    assert.is(budget.usedBytes(), BUDGET_BYTES);
  });

  check('that still arrive when a service stops have one second for it', async () => {
    const { clock, bodies } = createBodies();
    const [quick, slow] = [openPosting(), openPosting()];
    const reading = bodies.readJson(quick.request);
    const late = faultOf(bodies.readJson(slow.request));
    await clock.advance(5000);
    bodies.stop();
    await clock.advance(900);
    await quick.send('1');
    await quick.end();
    assert.is(await reading, 1);
    await clock.advance(100);
    assert.equal(await late, { kind: 'body-too-slow' });
    assert.is(clock.pending(), 0);
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

  check('are given back by the guard, whatever comes of the request', async () => {
    const { clock, budget, bodies } = createBodies();
    const answers: readonly (() => Response)[] = [
      () => jsonResponse(200, {}),
      () => {
        throw new Fault({ kind: 'unauthorized' });
      },
      () => {
        throw new TypeError('a bug');
      },
    ];
    for (const answer of answers) {
      const handler = guard(
        async (request) => {
          await bodies.readJson(request);
          assert.is(budget.usedBytes(), 100 * KB);
          return answer();
        },
        { clock, log: () => {}, newRequestId: () => 'req-1', routeOf: () => '/', bodies },
      );
      await handler(postingOf(100 * KB));
      assert.is(budget.usedBytes(), 0);
    }
  });

  check('may be left out where a route says so', async () => {
    const { budget, bodies } = createBodies();
    assert.is(await bodies.readJsonIfAny(new Request('http://service.test/', { method: 'POST' })), undefined);
    assert.is(await bodies.readJsonIfAny(postingOf(10 * KB)), 'x'.repeat(10 * KB - 2));
    assert.is(budget.usedBytes(), 10 * KB);
  });

  check('never exceed the budget, and are all given back, in any order of events', async () => {
    const { budget, bodies } = createBodies();
    const open: (() => void)[] = [];
    for (let round = 0; round < thorough(2000, 50_000); round += 1) {
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
