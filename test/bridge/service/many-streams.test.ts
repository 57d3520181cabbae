import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import * as assert from 'uvu/assert';
import type { ModelEvent } from '../../../src/agent/model/types.ts';
import type { Script } from '../../agent/harness/world.ts';
import { describe, thorough } from '../../check.ts';
import { type LiveStream, openStream } from '../harness/live-stream.ts';
import { lastTextTo } from '../harness/model-scripts.ts';
import { aborts, type BridgeWorld, quietTime, until, user, withBridge } from '../harness/world.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;
const MIB = 1024 * 1024;
const usedMiB = (): number => {
  collectGarbage();
  return process.memoryUsage().heapUsed / MIB;
};

const READERS = thorough(50, 200);
const CHARS = 2400;
const PACED = { settings: { chunkSize: 4, chunkDelayMs: 10 } };
const DONE: ModelEvent = {
  kind: 'finished',
  finish: 'stop',
  tokens: { input: 1, output: 1, reasoning: 0, cache: { read: 0, write: 0 }, total: 2 },
};

/** A text of which each part is different for everybody. */
const textFor = (words: string): string =>
  Array.from({ length: CHARS / 20 }, (_, index) => `${words}/${index} 👩🏽‍💻 ${'x'.repeat(20)}`.slice(0, 20)).join('');

/** Says it in small parts, for a bit more than a second. */
const slowly: Script = async function* (request) {
  const text = textFor(lastTextTo(request));
  for (let at = 0; at < text.length; at += 160) {
    yield { kind: 'text', delta: text.slice(at, at + 160) };
    await quietTime(50);
  }
  yield DONE;
};

/** Reads a chunk every 20 ms; says how long the longest wait for one was. */
const readSlowly = async (stream: LiveStream): Promise<number> => {
  let longestMs = 0;
  for (;;) {
    const askedAt = performance.now();
    const isMore = await stream.next();
    longestMs = Math.max(longestMs, performance.now() - askedAt);
    if (!isMore) return longestMs;
    await quietTime(20);
  }
};

const ask = async (world: BridgeWorld, words: string): Promise<LiveStream> =>
  openStream(world, { messages: [user(words)] });

describe(`${READERS} slow readers`, (check) => {
  check('each receive all of their own answer, none waits long, and little is held for them', () =>
    withBridge({ ...PACED, scripts: [slowly] }, async (world) => {
      await readSlowly(await ask(world, 'warm'));
      const before = usedMiB();
      let peak = 0;
      const reads = Array.from({ length: READERS }, async (_, index) => {
        const stream = await ask(world, `r${index}`);
        const longestMs = await readSlowly(stream);
        assert.is(stream.text(), textFor(`r${index}`));
        assert.is(stream.data.at(-1), '[DONE]');
        return longestMs;
      });
      const looking = setInterval(() => {
        peak = Math.max(peak, usedMiB());
      }, 500);
      const longest = Math.max(...(await Promise.all(reads)));
      clearInterval(looking);
      const after = usedMiB();
      assert.ok(longest < 2000, `somebody waited ${longest} ms`);
      assert.ok(peak - before < 80, `${peak - before} MiB at most`);
      assert.ok(after - before < 40, `${after - before} MiB stayed`);
      assert.is(world.readings().answersRunning, 0);
    }),
  );
});

describe('a reader that stops reading', (check) => {
  check('stalls no one, costs its answer once, and can leave', () => {
    const LONG = 4 * MIB;
    const script: Script = async function* (request, signal) {
      if (lastTextTo(request) !== 'long') return yield* slowly(request, signal);
      for (let at = 0; at < LONG; at += 64 * 1024) {
        yield { kind: 'text', delta: 'y'.repeat(64 * 1024) };
        await quietTime(1);
      }
      yield DONE;
    };
    return withBridge({ ...PACED, scripts: [script] }, async (world) => {
      await readSlowly(await ask(world, 'warm'));
      const before = usedMiB();
      const stuck = await ask(world, 'long');
      await stuck.until('y');
      const others = await Promise.all(
        Array.from({ length: 20 }, async (_, index) => {
          const stream = await ask(world, `r${index}`);
          const longestMs = await readSlowly(stream);
          assert.is(stream.text(), textFor(`r${index}`));
          return longestMs;
        }),
      );
      assert.ok(Math.max(...others) < 2000);
      await until(async () => (await world.agent.store.unfinished()).length === 0);
      const used = usedMiB() - before;
      assert.ok(used < 60, `${used} MiB for one answer of ${LONG / MIB}`);
      await stuck.leave();
      await until(() => world.readings().answersRunning === 0);
      assert.equal(aborts(world), []);
    });
  });
});
