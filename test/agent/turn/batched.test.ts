import fc from 'fast-check';
import * as assert from 'uvu/assert';
import { readBatches } from '../../../src/agent/turn/model-call.ts';
import { describe, rejection } from '../../check.ts';
import { createFakeClock, type FakeClock } from '../../fake-clock.ts';

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const needs = (clock: FakeClock, limit = 1000) => ({ clock, gatherMs: 1, intervalMs: 25, limit });
async function* counting(count: number, state = { given: 0, isEnded: false }): AsyncGenerator<number> {
  try {
    for (; state.given < count; state.given++) yield state.given;
  } finally {
    state.isEnded = true;
  }
}

describe('what comes in batches', (check) => {
  check('comes whole and in order, in as few batches as there are intervals', async () => {
    const step = fc.record({ count: fc.nat(40), afterMs: fc.nat(100) });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 12 }), fc.integer({ min: 1, max: 50 }), async (steps, limit) => {
        const clock = createFakeClock();
        let next = 0;
        const source = (async function* () {
          for (const { count, afterMs } of steps) {
            for (let index = 0; index < count; index++) yield next++;
            await new Promise<void>((resolve) => clock.after(afterMs, resolve));
          }
        })();
        const batches: (readonly number[])[] = [];
        let isDone = false;
        const reading = (async () => {
          for await (const batch of readBatches(source, needs(clock, limit))) batches.push(batch);
          isDone = true;
        })();
        const startedAt = clock.now();
        while (!isDone) await clock.advance(5);
        await reading;
        assert.equal(
          batches.flat(),
          Array.from({ length: next }, (_, index) => index),
        );
        assert.ok(batches.every((batch) => batch.length > 0 && batch.length <= limit + 1));
        const intervals = Math.ceil((clock.now() - startedAt) / 25) + 1;
        assert.ok(batches.length <= intervals + 1, `${batches.length} batches in ${intervals} intervals`);
        assert.is(clock.pending(), 0);
      }),
      { numRuns: 60 },
    );
  });

  check('is not read ahead beyond the limit', async () => {
    const clock = createFakeClock();
    const state = { given: 0, isEnded: false };
    const reader = readBatches(counting(10_000, state), needs(clock, 10));
    const reading = reader.next();
    await clock.advance(1);
    const first = await reading;
    await turn();
    assert.ok(state.given <= 22, `${state.given} read ahead of ${(first.value as readonly number[]).length}`);
    await reader.return(undefined);
    assert.ok(state.isEnded);
  });

  check('comes before the failure that ends it', async () => {
    const clock = createFakeClock();
    const broken = new Error('cut');
    const source = (async function* () {
      yield 1;
      yield 2;
      throw broken;
    })();
    const collected: number[] = [];
    const reading = (async () => {
      for await (const batch of readBatches(source, needs(clock))) collected.push(...batch);
    })();
    assert.is(await rejection(reading), broken);
    assert.equal(collected, [1, 2]);
    assert.is(clock.pending(), 0);
  });

  check('ends its source when no one wants more', async () => {
    const clock = createFakeClock();
    const state = { given: 0, isEnded: false };
    const reading = (async () => {
      for await (const batch of readBatches(counting(100, state), needs(clock, 5))) {
        assert.ok(batch.length > 0);
        break;
      }
    })();
    await clock.advance(1);
    await reading;
    assert.ok(state.isEnded);
    assert.is(clock.pending(), 0);
  });

  check('comes at once in one batch when the source gives it at once', async () => {
    const clock = createFakeClock();
    const startedAt = clock.now();
    const batches: (readonly number[])[] = [];
    for await (const batch of readBatches(counting(5), needs(clock))) batches.push(batch);
    assert.equal(batches, [[0, 1, 2, 3, 4]]);
    assert.is(clock.now(), startedAt);
    assert.is(clock.pending(), 0);
  });

  check('waits for more only so long after a silence', async () => {
    const clock = createFakeClock();
    const source = (async function* () {
      for (const item of [1, 2]) {
        yield item;
        await new Promise<void>((resolve) => clock.after(100, resolve));
      }
    })();
    const collected: (readonly number[])[] = [];
    const reading = (async () => {
      for await (const batch of readBatches(source, needs(clock))) collected.push(batch);
    })();
    await clock.advance(1);
    assert.equal(collected, [[1]]);
    await clock.advance(100);
    assert.equal(collected, [[1], [2]]);
    await clock.advance(100);
    await reading;
  });

  check('may be nothing at all', async () => {
    const batches: unknown[] = [];
    for await (const batch of readBatches(counting(0), needs(createFakeClock()))) batches.push(batch);
    assert.equal(batches, []);
  });
});
