import { Worker } from 'node:worker_threads';
import * as fc from 'fast-check';
import * as assert from 'uvu/assert';
import { Fault } from '../../../../src/core/fault.ts';
import { createViewsThread } from '../../../../src/gateway/adapter/views/thread.ts';
import { createViews } from '../../../../src/gateway/text/decode.ts';
import { describe, rejection, thorough } from '../../../check.ts';
import { codePoint } from '../../../code-points.ts';
import { atOnce } from '../../harness/at-once.ts';
import { worstTexts } from '../../harness/worst-texts.ts';
import { DISGUISES } from '../../text/disguises.ts';
import { INVISIBLE_DISGUISES } from '../../text/invisible-disguises.ts';

const never = new AbortController().signal;
const LIMITS = { idleMs: 60_000, noticeMs: 10_000, restMs: 60_000 };

type Given = Partial<Parameters<typeof createViewsThread>[0]>;

/** Runs `body` with a thread that is ended afterwards, and what is told of threads that died. */
const withThread = async (
  given: Given,
  body: (thread: ReturnType<typeof createViewsThread>, died: readonly string[]) => Promise<void>,
): Promise<void> => {
  const died: string[] = [];
  const thread = createViewsThread({ maxChars: 100_000, onDied: (reason) => died.push(reason), ...given });
  try {
    await body(thread, died);
  } finally {
    await thread.stop();
  }
};

const HEAD = `const { parentPort } = require('node:worker_threads');`;
/** A thread that starts, and does this with the first text. */
const startingThen =
  (action: string, heapMegabytes = 64) =>
  (): Worker =>
    new Worker(`${HEAD} parentPort.on('message', (given) => { ${action} }); parentPort.postMessage({});`, {
      eval: true,
      resourceLimits: { maxOldGenerationSizeMb: heapMegabytes },
    });

/** What a promise was rejected with, in a word. */
const failureOf = async (promise: Promise<unknown>): Promise<string> => {
  const error = await rejection(promise);
  return error instanceof Fault ? error.detail.kind : String(error);
};

describe('the views that the thread makes', (check) => {
  check('are those made in place: of every known disguise, of the costliest and of random texts', () =>
    withThread({}, async ({ makeViews }, died) => {
      const texts = [
        ...Object.values(DISGUISES),
        ...Object.values(INVISIBLE_DISGUISES),
        ...worstTexts(thorough(500, 100_000)),
      ];
      for (const text of texts)
        assert.equal(await makeViews(text, 'a', never), atOnce(createViews(text)), JSON.stringify(text.slice(0, 60)));
      const disguise = fc.constantFrom(...Object.values(DISGUISES), ...Object.values(INVISIBLE_DISGUISES));
      const piece = fc.oneof(
        disguise,
        fc.string({ unit: codePoint }),
        fc.string({ unit: 'grapheme' }),
        fc.constantFrom('\ud800', '\udc00', '\0'),
      );
      await fc.assert(
        fc.asyncProperty(fc.array(piece, { maxLength: 8 }), async (pieces) => {
          const text = pieces.join(' ');
          assert.equal(await makeViews(text, 'a', never), atOnce(createViews(text)));
        }),
        { numRuns: thorough(20, 2000) },
      );
      assert.equal(died, []);
    }),
  );
});

describe('a thread for views', (check) => {
  check('starts with the first text, ends when it is idle, and starts again', () => {
    let starts = 0;
    const startWorker = (): Worker => {
      starts += 1;
      return startingThen('parentPort.postMessage({ id: 1, views: { texts: ["seen"], hidden: [] } })')();
    };
    return withThread({ limits: { ...LIMITS, idleMs: 1 }, startWorker }, async ({ makeViews }, died) => {
      assert.is(starts, 0);
      for (const count of [1, 2]) {
        assert.equal((await makeViews('a text', 'a', never))?.texts, ['seen']);
        assert.is(starts, count);
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
      assert.equal(died, []);
    });
  });

  check('is told of a text that is no longer wanted, and goes on with others', () => {
    const action = `if (given.text === undefined)
      parentPort.postMessage({ id: 2, views: { texts: ['not wanted: ' + given.id], hidden: [] } });`;
    return withThread({ startWorker: startingThen(action) }, async ({ makeViews }, died) => {
      const controller = new AbortController();
      const left = failureOf(makeViews('first', 'a', controller.signal));
      const second = makeViews('second', 'b', never);
      controller.abort(new Error('left'));
      assert.is(await left, 'Error: left');
      assert.equal((await second)?.texts, ['not wanted: 1']);
      assert.equal(died, []);
    });
  });

  check('stops the work on a text that is no longer wanted', async () => {
    const worker = new Worker(new URL('../../../../src/gateway/adapter/views/thread-entry.ts', import.meta.url));
    const next = () => new Promise((resolve) => worker.once('message', resolve));
    assert.equal(await next(), {});
    const [text] = worstTexts(1_000_000);
    worker.postMessage({ id: 1, text, owner: 'a' });
    worker.postMessage({ id: 1 });
    assert.equal(await next(), { id: 1 });
    worker.postMessage({ id: 2, text: 'short', owner: 'a' });
    assert.equal(await next(), { id: 2, views: atOnce(createViews('short')) });
    await worker.terminate();
  });

  check('does nothing for a caller that has left', () =>
    withThread(
      {
        startWorker: () => {
          throw new Error('was started');
        },
      },
      async ({ makeViews }) =>
        assert.is(await failureOf(makeViews('text', 'a', AbortSignal.abort(new Error('gone')))), 'Error: gone'),
    ),
  );

  for (const [name, action, reason] of [
    ['ends', 'process.exit(1)', 'exit'],
    ['throws', 'throw new TypeError("a text of a user")', 'TypeError'],
    ['needs more memory than it may take', 'const all = []; for (;;) all.push({ a: {} })', 'ERR_WORKER_OUT_OF_MEMORY'],
  ] as const)
    check(`that ${name} fails the texts it has, is named without their words, and the next text gets a new one`, () => {
      let starts = 0;
      const startWorker = (): Worker => {
        starts += 1;
        const answering = 'parentPort.postMessage({ id: 1, views: { texts: ["seen"], hidden: [] } })';
        return startingThen(starts === 1 ? action : answering, 8)();
      };
      return withThread({ startWorker }, async ({ makeViews }, died) => {
        const both = ['a', 'b'].map((owner) => failureOf(makeViews('text', owner, never)));
        assert.equal(await Promise.all(both), ['overloaded', 'overloaded']);
        assert.equal(died, [reason]);
        assert.equal((await makeViews('text', 'a', never))?.texts, ['seen']);
      });
    });

  check('that is caught in one step is ended once nobody wants its text', () => {
    const action = `if (given.id > 1) for (;;);
      parentPort.postMessage({ id: 1, views: { texts: ['seen'], hidden: [] } });`;
    const given = { limits: { ...LIMITS, noticeMs: 20 }, startWorker: startingThen(action) };
    return withThread(given, async ({ makeViews }, died) => {
      assert.equal((await makeViews('text', 'a', never))?.texts, ['seen']);
      const controller = new AbortController();
      const stuck = failureOf(makeViews('text', 'a', controller.signal));
      const beside = failureOf(makeViews('text', 'b', never));
      controller.abort(new Error('the deadline'));
      assert.is(await stuck, 'Error: the deadline');
      assert.is(await beside, 'overloaded');
      assert.equal(died, ['hung']);
    });
  });

  check('that cannot be started leaves the texts to others, and is not tried again for a while', () => {
    let starts = 0;
    const startWorker = (): Worker => {
      starts += 1;
      return new Worker('throw new RangeError("no thread here")', { eval: true });
    };
    return withThread({ startWorker }, async ({ makeViews }, died) => {
      assert.is(await makeViews('text', 'a', never), undefined);
      assert.is(await makeViews('text', 'a', never), undefined);
      assert.is(starts, 1);
      assert.equal(died, ['RangeError']);
    });
  });

  check('passes on a bug in the work on a text', () => {
    const action = 'parentPort.postMessage({ id: 1, error: new TypeError("a bug") })';
    return withThread({ startWorker: startingThen(action) }, async ({ makeViews }, died) => {
      assert.is(await failureOf(makeViews('text', 'a', never)), 'TypeError: a bug');
      assert.equal(died, []);
    });
  });

  check('is not started after a stop, and a stop leaves no text waiting', () =>
    withThread({ startWorker: startingThen('') }, async ({ makeViews, stop }, died) => {
      const waiting = makeViews('text', 'a', never).catch(() => 'failed');
      await stop();
      assert.ok([undefined, 'failed'].includes((await waiting) as undefined));
      assert.is(await makeViews('text', 'a', never), undefined);
      assert.equal(died, []);
    }),
  );
});
