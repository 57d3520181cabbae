import * as assert from 'uvu/assert';
import type { EvalAnswer } from '../../src/eval/answer.ts';
import type { RequestVerdict } from '../../src/eval/ask.ts';
import { type FinishedItem, runItems } from '../../src/eval/run.ts';
import { describe, rejection } from '../check.ts';
import { ASKED, createManualClock, GATEWAY, gather, itemOf, scoresOf, settle, stream } from './world.ts';

const clean: EvalAnswer = {
  kind: 'verdict',
  verdict: { scores: scoresOf(), categories: [], flagged: false },
  gateway: GATEWAY,
};
const busy: EvalAnswer = { kind: 'error', code: '429', retryAfterMs: 5000 };

/** A world in which each question waits until it is answered by hand. */
const byHand = (texts: readonly string[], concurrency: number) => {
  const clock = createManualClock();
  const stop = new AbortController();
  const open = new Map<
    string,
    { resolve: (answer: EvalAnswer) => void; reject: (error: Error) => void; signal: AbortSignal }
  >();
  const asked: string[] = [];
  const ask: RequestVerdict = (text, signal) => {
    asked.push(text);
    return new Promise((resolve, reject) => {
      open.set(text, { resolve, reject, signal });
      signal.addEventListener('abort', () => resolve({ kind: 'error', code: 'aborted' }));
    });
  };
  const finished: FinishedItem[] = [];
  const taken: string[] = [];
  const items = (async function* () {
    for (const text of texts) {
      taken.push(text);
      yield itemOf(text);
    }
  })();
  const run = (async () => {
    for await (const one of runItems(items, { ask, asked: ASKED, clock, concurrency, signal: stop.signal }))
      finished.push(one);
  })();
  run.catch(() => {});
  const answer = async (text: string, value: EvalAnswer = clean) => {
    open.get(text)?.resolve(value);
    open.delete(text);
    await settle();
  };
  const names = () => finished.map(({ item }) => item.id);
  return { clock, stop, open, taken, asked, finished, run, answer, names };
};

describe('a run', (check) => {
  check('asks so many at a time and hands out results as they come', async () => {
    const { asked, answer, names, run } = byHand(['a', 'b', 'c', 'd'], 2);
    await settle();
    assert.equal(asked, ['a', 'b']);
    await answer('b');
    assert.equal(names(), ['b']);
    assert.equal(asked, ['a', 'b', 'c']);
    await answer('c');
    await answer('d');
    await answer('a');
    await run;
    assert.equal(names(), ['b', 'c', 'd', 'a']);
  });

  check('measures the answer and not the wait before it', async () => {
    const { clock, answer, finished, run } = byHand(['a'], 1);
    await settle();
    clock.advance(30);
    await answer('a', busy);
    clock.advance(5000);
    await settle();
    clock.advance(40);
    await answer('a');
    await run;
    assert.is(finished[0]?.result.ms, 40);
    assert.is(finished[0]?.result.status, 'judged');
  });

  check('waits as long as it is asked to, with every item, and tries three times', async () => {
    const { clock, asked, answer, finished, run } = byHand(['a', 'b'], 1);
    await settle();
    await answer('a', busy);
    clock.advance(4999);
    await settle();
    assert.equal(asked, ['a']);
    clock.advance(1);
    await settle();
    await answer('a', busy);
    clock.advance(5000);
    await settle();
    await answer('a', busy);
    assert.equal(asked, ['a', 'a', 'a']);
    assert.equal(finished[0]?.result, { id: 'a', hash: 'hash of a', status: 'error', code: '429', ms: 0 });
    await settle();
    assert.equal(asked.at(-1), 'a', 'the next item waits too');
    clock.advance(5000);
    await settle();
    assert.equal(asked.at(-1), 'b');
    await answer('b');
    await run;
  });

  check('an error without a wait is not tried again', async () => {
    const { asked, answer, finished, run } = byHand(['a'], 1);
    await settle();
    await answer('a', { kind: 'error', code: '502 backend_error' });
    await run;
    assert.is(asked.length, 1);
    assert.is(finished[0]?.result.status, 'error');
  });

  check('interrupted, it asks nothing new and finishes what it has asked', async () => {
    const { stop, taken, asked, open, answer, names, run } = byHand(['a', 'b', 'c'], 2);
    await settle();
    stop.abort();
    await answer('b');
    assert.equal(
      [...open.values()].map(({ signal }) => signal.aborted),
      [false],
    );
    await answer('a');
    await run;
    assert.equal(asked, ['a', 'b']);
    assert.equal(taken, ['a', 'b'], 'the file is not read on');
    assert.equal(names(), ['b', 'a']);
  });

  check('interrupted in a wait, it does not sit the wait out', async () => {
    const { stop, asked, answer, finished, run } = byHand(['a', 'b'], 2);
    await settle();
    await answer('a', busy);
    stop.abort();
    await answer('b');
    await run;
    assert.equal(asked, ['a', 'b']);
    assert.equal(finished.map(({ result }) => result.status).sort(), ['error', 'judged']);
  });

  check('stops at once when going on makes no sense, and ends what it is asking', async () => {
    const { open, asked, run } = byHand(['a', 'b', 'c'], 2);
    await settle();
    const other = open.get('b')!;
    open.get('a')!.reject(new Error('refused the key'));
    assert.is(((await rejection(run)) as Error).message, 'refused the key');
    assert.ok(other.signal.aborted);
    assert.equal(asked, ['a', 'b']);
  });

  check('a caller that leaves ends what is being asked', async () => {
    let aborted = 0;
    const ask: RequestVerdict = (text, signal) =>
      text === 'a'
        ? Promise.resolve(clean)
        : new Promise((resolve) =>
            signal.addEventListener('abort', () => {
              aborted += 1;
              resolve(clean);
            }),
          );
    const needs = {
      ask,
      asked: ASKED,
      clock: createManualClock(),
      concurrency: 3,
      signal: new AbortController().signal,
    };
    for await (const _ of runItems(stream(['a', 'b', 'c'].map(itemOf)), needs)) break;
    assert.is(aborted, 2);
  });

  check('no items are no results', async () => {
    const needs = {
      ask: async () => clean,
      asked: ASKED,
      clock: createManualClock(),
      concurrency: 3,
      signal: new AbortController().signal,
    };
    assert.equal(await gather(runItems(stream([]), needs)), []);
  });
});
