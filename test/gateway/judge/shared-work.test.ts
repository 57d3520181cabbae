import fc from 'fast-check';
import * as assert from 'uvu/assert';
import { createDeadline, type Deadline } from '../../../src/core/async.ts';
import { Fault } from '../../../src/core/fault.ts';
import { createSharedWork } from '../../../src/gateway/judge/shared-work.ts';
import { describe, rejection, thorough } from '../../check.ts';
import { createFakeClock } from '../../fake-clock.ts';
import { errorOf, resultsOf } from '../harness/read-answer.ts';
import { gatewayOver, judging, received } from '../harness/world.ts';

const LIMIT_MS = 1000;
const HERE = new AbortController().signal;

/** Work that ends when it is told to. */
const workUnderWay = () => {
  const clock = createFakeClock();
  const work = createSharedWork<string>(() => createDeadline(clock, LIMIT_MS));
  const begun: { signal: AbortSignal; end: PromiseWithResolvers<string> }[] = [];
  const start = ({ signal }: Deadline) => {
    const end = Promise.withResolvers<string>();
    begun.push({ signal, end });
    signal.addEventListener('abort', () => end.reject(signal.reason), { once: true });
    return end.promise;
  };
  return { begun, clock, join: (signal = HERE, key = 'key') => work.join(key, signal, start) };
};

describe('shared work', (check) => {
  check('that is being given up is joined by no one, however long that takes', async () => {
    const work = createSharedWork<string>(() => createDeadline(createFakeClock(), LIMIT_MS));
    const slow = Promise.withResolvers<string>();
    const leaver = new AbortController();
    const leaving = rejection(work.join('key', leaver.signal, () => slow.promise));
    leaver.abort(new Error('left'));
    await leaving;
    assert.is(await work.join('key', HERE, async () => 'done anew'), 'done anew');
    slow.reject(new Error('given up'));
  });
});

type Step = { readonly kind: 'join' | 'leave' | 'finish' | 'fail' | 'wait'; readonly caller: number };
const steps = fc.array(
  fc.record<Step>({
    kind: fc.constantFrom('join', 'join', 'leave', 'leave', 'finish', 'fail', 'wait'),
    caller: fc.nat({ max: 5 }),
  }),
  { maxLength: 30 },
);

describe('shared work whose callers come and go', (check) => {
  check('runs while somebody waits for it and its time lasts, ends once for all of them, and leaves no timer', () =>
    fc.assert(
      fc.asyncProperty(steps, async (taken) => {
        const { begun, clock, join } = workUnderWay();
        // What should be: the work under way since when, and who waits for it.
        let startedAt: number | undefined;
        const waiting = new Map<number, { leaver: AbortController; outcome: Promise<string> }>();
        let starts = 0;
        const settle = async (expected: string): Promise<void> => {
          for (const { outcome } of waiting.values()) assert.is(await outcome, expected);
          waiting.clear();
          startedAt = undefined;
        };
        for (const { kind, caller } of taken) {
          const current = begun.at(-1);
          if (kind === 'join' && !waiting.has(caller)) {
            if (startedAt === undefined) {
              startedAt = clock.now();
              starts += 1;
            }
            const leaver = new AbortController();
            const outcome = join(leaver.signal).catch((error: unknown) =>
              error instanceof Fault ? error.detail.kind : (error as Error).message,
            );
            waiting.set(caller, { leaver, outcome });
          } else if (kind === 'leave') {
            const leaving = waiting.get(caller);
            leaving?.leaver.abort(new Error(`left ${caller}`));
            if (leaving !== undefined) assert.is(await leaving.outcome, `left ${caller}`);
            waiting.delete(caller);
            if (leaving !== undefined && waiting.size === 0) {
              startedAt = undefined;
              assert.is(current?.signal.reason.message, `left ${caller}`);
            }
          } else if (kind === 'finish' && startedAt !== undefined) {
            current?.end.resolve('done');
            await settle('done');
            assert.is(current?.signal.aborted, false);
          } else if (kind === 'fail' && startedAt !== undefined) {
            current?.end.reject(new Error('failed'));
            await settle('failed');
          } else if (kind === 'wait') {
            await clock.advance(LIMIT_MS / 3 + 1);
            if (startedAt !== undefined && clock.now() - startedAt >= LIMIT_MS) await settle('backend-timeout');
          }
          await clock.advance(0);
          assert.is(begun.length, starts);
          assert.is(begun.at(-1)?.signal.aborted === false && startedAt !== undefined, startedAt !== undefined);
          assert.is(clock.pending(), startedAt === undefined ? 0 : 1);
        }
      }),
      { numRuns: thorough(30, 2000) },
    ),
  );
});

describe('requests for the same text at the same time', (check) => {
  const slowWorld = () => {
    const gone = Promise.withResolvers<void>();
    const world = gatewayOver(async (sent) => {
      await gone.promise;
      return judging({ HR: 70 })(sent);
    });
    return { ...world, answerNow: gone.resolve };
  };
  check('cost one call', async () => {
    const { ask, calls, clock, answerNow } = slowWorld();
    const answers = Array.from({ length: 20 }, () => ask({ input: 'same' }));
    await clock.advance(0);
    answerNow();
    for (const answer of answers) assert.is((await resultsOf(await answer))[0]?.scores.harassment, 0.7);
    assert.is(calls.length, 1);
  });
  check('cost a call each for different models', async () => {
    const { ask, calls, answerNow } = slowWorld();
    const answers = ['moderation-fast', 'moderation-accurate'].map((model) => ask({ input: 'same', model }));
    answerNow();
    await Promise.all(answers);
    assert.is(calls.length, 2);
  });
  check('do not suffer when one of them leaves', async () => {
    const { ask, calls, clock, answerNow } = slowWorld();
    const leaver = new AbortController();
    const leaving = ask({ input: 'same' }, {}, leaver.signal);
    const staying = ask({ input: 'same' });
    await clock.advance(0);
    leaver.abort();
    assert.is((await leaving).status, 499);
    assert.is(calls[0]?.signal.aborted, false);
    answerNow();
    await resultsOf(await staying);
    assert.is(calls.length, 1);
  });
  check('are given up at once when all leave', async () => {
    const { ask, calls, clock } = slowWorld();
    const leavers = [new AbortController(), new AbortController()];
    const answers = leavers.map(({ signal }) => ask({ input: 'same' }, {}, signal));
    await clock.advance(0);
    for (const leaver of leavers) leaver.abort();
    assert.equal(
      (await Promise.all(answers)).map(({ status }) => status),
      [499, 499],
    );
    assert.is(calls[0]?.signal.aborted, true);
    await clock.advance(0);
    assert.is(clock.pending(), 0);
  });
  check('do not share the hurry of the first', async () => {
    const { ask, calls, clock, answerNow } = slowWorld();
    const hurried = ask({ input: 'same' }, { 'x-request-timeout-ms': '1000' });
    await clock.advance(500);
    const patient = ask({ input: 'same' });
    await clock.advance(500);
    assert.is((await errorOf(await hurried)).status, 504);
    await clock.advance(5000);
    answerNow();
    await resultsOf(await patient);
    assert.is(calls.length, 1);
  });
  check('all fail with the one call', async () => {
    const { ask, calls } = gatewayOver(() => received(500, ''), { variables: { BACKEND_API_KEYS: 'k' } });
    const answers = await Promise.all([1, 2, 3].map(() => ask({ input: 'same' })));
    for (const answer of answers) assert.is((await errorOf(answer)).code, 'backend_error');
    assert.is(calls.length, 1);
  });
});
