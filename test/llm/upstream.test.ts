import * as assert from 'uvu/assert';
import { describe, rejection } from '../check.ts';
import { createBackendWorld, detailOf, failing, GOOD } from './backend-world.ts';
import { type Answer, ollamaAnswer, reset, type Step } from './scripted-client.ts';

type World = ReturnType<typeof createBackendWorld>;

const LEFT_ALONE = 'it failed several times in a row and is not called for a moment';

const failuresOf = async (world: World, count: number): Promise<unknown[]> => {
  const thrown: unknown[] = [];
  for (let index = 0; index < count; index++) thrown.push(await rejection(world.askUpstream()));
  return thrown;
};
const isClosed = (world: World): boolean => world.breaker.status().state === 'closed';

describe('the backend behind its breaker', (check) => {
  check('is left alone after five requests in a row that the host failed, and asked nothing then', async () => {
    const steps: readonly Step[] = [
      failing(500),
      failing(503),
      failing(408),
      reset(),
      reset('ECONNREFUSED'),
      failing(200),
    ];
    for (const step of steps) {
      const world = createBackendWorld({ keys: 'ab', script: () => step });
      await failuresOf(world, 4);
      assert.ok(isClosed(world));
      await failuresOf(world, 1);
      assert.equal(world.breaker.status(), { state: 'open', coolDownMs: 2_000 });
      assert.is(world.calls.length, 10);
      const detail = detailOf(await rejection(world.askUpstream()));
      assert.equal(detail, { kind: 'backend-error', reason: LEFT_ALONE });
      assert.is(world.calls.length, 10);
    }
  });

  check('is tried by one request after its rest, and trusted again when that succeeds', async () => {
    const world = createBackendWorld({ script: (_sent, index) => (index < 5 ? failing(500) : GOOD) });
    await failuresOf(world, 5);
    await world.clock.advance(1_999);
    await failuresOf(world, 1);
    assert.is(world.calls.length, 5);
    await world.clock.advance(1);
    const trial = world.askUpstream();
    assert.equal(detailOf(await rejection(world.askUpstream())), { kind: 'backend-error', reason: LEFT_ALONE });
    await trial;
    assert.ok(isClosed(world));
    await world.askUpstream();
    assert.is(world.calls.length, 7);
  });

  check('rests longer when the trial fails', async () => {
    const world = createBackendWorld({ script: () => failing(500) });
    await failuresOf(world, 5);
    for (const coolDownMs of [4_000, 8_000, 16_000, 30_000, 30_000]) {
      await world.clock.advance(world.breaker.status().coolDownMs);
      await failuresOf(world, 1);
      assert.equal(world.breaker.status(), { state: 'open', coolDownMs });
    }
  });

  check('is not blamed for what speaks of a key, a model or a request', async () => {
    const steps: readonly Step[] = [401, 402, 403, 404, 429].map((status) => failing(status));
    for (const step of steps) {
      const world = createBackendWorld({ keys: 'ab', script: () => step });
      await failuresOf(world, 12);
      assert.ok(isClosed(world), JSON.stringify(step));
    }
    for (const step of [
      failing(400),
      failing(413),
      { text: '<html>' },
      { text: ollamaAnswer({ done_reason: 'load' }) },
    ]) {
      const world = createBackendWorld({ script: () => step });
      for (let index = 0; index < 12; index++) await world.askUpstream();
      assert.ok(isClosed(world), JSON.stringify(step));
    }
  });

  check('is trusted again, and counted anew, by any answer', async () => {
    const world = createBackendWorld({ script: (_sent, index) => (index === 4 ? failing(400) : failing(500)) });
    await failuresOf(world, 4);
    await world.askUpstream();
    await failuresOf(world, 4);
    assert.ok(isClosed(world));
  });

  check('is not trusted again by keys that are refused', async () => {
    const world = createBackendWorld({ script: (_sent, index) => (index < 5 ? failing(500) : failing(429)) });
    await failuresOf(world, 5);
    await world.clock.advance(2_000);
    assert.is(detailOf(await rejection(world.askUpstream())).kind, 'no-backend-key');
    assert.is(world.breaker.status().state, 'half-open');
  });

  check('is blamed when it hangs for long, not when its callers are in a hurry or leave', async () => {
    const blamed = async (limitMs: number, leavesAfterMs?: number): Promise<boolean> => {
      const world = createBackendWorld({ script: () => 'silence' });
      for (let index = 0; index < 5; index++) {
        const client = new AbortController();
        const asked = rejection(world.askUpstream(limitMs, client.signal));
        await world.clock.advance(leavesAfterMs ?? limitMs);
        client.abort();
        assert.is(detailOf(await asked).kind, leavesAfterMs === undefined ? 'backend-timeout' : 'client-left');
      }
      assert.is(world.clock.pending(), 0);
      return !isClosed(world);
    };
    assert.ok(await blamed(25_000));
    assert.ok(await blamed(8_000));
    assert.not.ok(await blamed(7_999));
    assert.not.ok(await blamed(25_000, 20_000));
  });

  check('is tried to the end, though the one that tried it left', async () => {
    const late = Promise.withResolvers<Answer>();
    const world = createBackendWorld({ script: (_sent, index) => (index < 5 ? failing(500) : late.promise) });
    await failuresOf(world, 5);
    await world.clock.advance(2_000);
    const client = new AbortController();
    const trial = world.askUpstream(undefined, client.signal);
    await world.clock.advance(10);
    client.abort();
    assert.equal(detailOf(await rejection(world.askUpstream())), { kind: 'backend-error', reason: LEFT_ALONE });
    late.resolve(GOOD);
    await trial;
    assert.ok(isClosed(world));
    assert.is(world.clock.pending(), 0);
  });

  check('is free for another trial when the one that tried it left, and its time is over', async () => {
    const world = createBackendWorld({
      script: (_sent, index) => (index < 5 ? failing(500) : index === 5 ? 'silence' : GOOD),
    });
    await failuresOf(world, 5);
    await world.clock.advance(2_000);
    const client = new AbortController();
    const trial = rejection(world.askUpstream(undefined, client.signal));
    await world.clock.advance(10);
    client.abort();
    await world.clock.advance(25_000);
    assert.is(detailOf(await trial).kind, 'client-left');
    await world.askUpstream();
    assert.ok(isClosed(world));
  });

  check('is not tried for one that has left already', async () => {
    const world = createBackendWorld({ script: () => failing(500) });
    await failuresOf(world, 5);
    await world.clock.advance(2_000);
    await rejection(world.askUpstream(undefined, AbortSignal.abort()));
    assert.is(world.calls.length, 5);
    assert.is(world.breaker.status().state, 'half-open');
  });

  check('is free for another trial when the one that tried it met a bug of ours', async () => {
    const bug = new TypeError('a bug');
    const world = createBackendWorld({
      script: (_sent, index) => (index < 5 ? failing(500) : index === 5 ? bug : GOOD),
    });
    await failuresOf(world, 5);
    await world.clock.advance(2_000);
    assert.is(await rejection(world.askUpstream()), bug);
    await world.askUpstream();
    assert.ok(isClosed(world));
  });
});
