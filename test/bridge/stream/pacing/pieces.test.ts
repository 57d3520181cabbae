import fc from 'fast-check';
import * as assert from 'uvu/assert';
import type { OutputEvent } from '../../../../src/bridge/output.ts';
import { describe } from '../../../check.ts';
import { createFakeClock, type FakeClock } from '../../../fake-clock.ts';
import { anyParts, graphemesOf } from '../../harness/any-text.ts';
import { pacedPieces } from '../../harness/polled.ts';
import {
  called,
  done,
  joined,
  outputText,
  receivedFrom,
  type Step,
  silentAfter,
  textEnd,
  thought,
  withText,
} from '../../harness/scripted-log.ts';
import { DELAYS, letters, never, paceOf, repeated, SIZES, textOf, texts } from './world.ts';

const anyAnswer = fc.array(
  fc.oneof(
    { weight: 3, arbitrary: anyParts.map((parts) => ({ kind: 'text' as const, parts })) },
    { weight: 1, arbitrary: fc.constantFrom({ kind: 'reasoning' as const }, { kind: 'call' as const }) },
  ),
  { maxLength: 5 },
);

const stepsOf = (
  answer: readonly { readonly kind: string; readonly parts?: readonly string[] }[],
  gaps: readonly number[],
) => {
  const outputEvents = answer.flatMap(({ kind, parts }, index): readonly OutputEvent[] => {
    if (kind === 'reasoning') return [thought('hm'), thought('m'), { kind: 'reasoning-end', id: 'r' }];
    if (kind === 'call') return [called(`c${index}`)];
    return [...(parts ?? []).map((part) => outputText(part, `t${index}`)), textEnd(`t${index}`)];
  });
  const steps: readonly Step[] = [...outputEvents, done].flatMap((outputEvent, index) => [
    gaps[index % gaps.length] ?? 0,
    outputEvent,
  ]);
  return steps;
};

describe('paced output', (check) => {
  for (const chunkSize of SIZES) {
    for (const delayMs of DELAYS) {
      check(`is the same, in order, without a grapheme cut: ${chunkSize} every ${delayMs} ms`, async () => {
        await fc.assert(
          fc.asyncProperty(anyAnswer, fc.array(fc.nat(39), { minLength: 1, maxLength: 6 }), async (answer, gaps) => {
            const steps = stepsOf(answer, gaps);
            const collected = (await paceOf(steps, chunkSize, delayMs)).map(({ outputEvent }) => outputEvent);
            const reported = steps.filter((step) => typeof step !== 'number');
            assert.equal(joined(collected), joined(reported));
            const known = joined(reported).flatMap((outputEvent) => graphemesOf(textOf(outputEvent)));
            assert.equal(
              collected.flatMap((outputEvent) => graphemesOf(textOf(outputEvent))),
              known,
            );
            assert.ok(collected.every((outputEvent) => outputEvent.kind !== 'text' || outputEvent.text !== ''));
          }),
          { numRuns: 60 },
        );
      });
    }
  }

  check('comes in pieces of that many graphemes, one at each turn, the first at once', async () => {
    const collected = await paceOf([outputText('👍🏽bc👨‍👩‍👧‍👦ef'), textEnd(), done], 2, 10);
    assert.equal(texts(collected), [
      { text: '👍🏽b', atMs: 0 },
      { text: 'c👨‍👩‍👧‍👦', atMs: 10 },
      { text: 'ef', atMs: 20 },
    ]);
    assert.equal(
      collected.slice(-2).map(({ outputEvent, atMs }) => [outputEvent.kind, atMs]),
      [
        ['text-end', 20],
        ['end', 20],
      ],
    );
  });

  check('needs no timer for its first piece', async () => {
    const clock = createFakeClock();
    const pieces = pacedPieces(silentAfter(outputText('Hello')).source, { clock, chunkSize: 4, delayMs: 10 }, never);
    assert.equal(await pieces.next(), { done: false, value: outputText('Hell') });
    assert.is(clock.pending(), 0);
    await pieces.return();
  });

  check('lets all but texts through at once, after the text before them', async () => {
    const collected = await paceOf(
      [thought('a long thought'), outputText('abcd'), called('c1'), called('c2'), outputText('ef', 'b'), done],
      2,
      10,
    );
    assert.equal(
      collected.map(({ outputEvent, atMs }) => [textOf(outputEvent) || outputEvent.kind, atMs]),
      [
        ['reasoning', 0],
        ['ab', 0],
        ['cd', 10],
        ['call', 10],
        ['call', 10],
        ['ef', 20],
        ['end', 20],
      ],
    );
  });

  check('is not mixed with another text, even if that comes unannounced', async () => {
    const collected = await paceOf([outputText('abc'), outputText('def', 'b'), done], 2, 0);
    assert.equal(joined(collected.map(({ outputEvent }) => outputEvent)), [
      outputText('abc'),
      outputText('def', 'b'),
      done,
    ]);
  });

  check('ends when its source does, were that long after its last words', async () => {
    const collected = await paceOf([outputText('abc'), done, 500], 4, 10);
    assert.is(collected.at(-1)?.outputEvent.kind, 'end');
  });

  check('takes one timer a piece, however much comes meanwhile', async () => {
    const clock = createFakeClock();
    let timers = 0;
    const counted: FakeClock = {
      ...clock,
      after(ms, task) {
        timers += 1;
        return clock.after(ms, task);
      },
    };
    const steps = repeated(100, outputText('ab'), 1);
    const collected = await receivedFrom(
      pacedPieces(withText(clock, steps), { clock: counted, chunkSize: 20, delayMs: 10 }, never),
      clock,
    );
    assert.ok(timers <= collected.length + 1, `${timers} timers for ${collected.length} pieces`);
  });

  check('keeps its turns although each timer is late', async () => {
    const clock = createFakeClock();
    const late: FakeClock = { ...clock, after: (ms, task) => clock.after(ms + 3, task) };
    const collected = await receivedFrom(
      pacedPieces(
        withText(clock, repeated(50, outputText(letters(4)), 10)),
        { clock: late, chunkSize: 4, delayMs: 10 },
        never,
      ),
      clock,
    );
    assert.ok(texts(collected).every(({ text }) => text.length <= 4));
    assert.ok((collected.at(-1)?.atMs ?? 0) <= 510, `${collected.at(-1)?.atMs} ms`);
  });

  check('goes at its pace through bursts that it can smooth', async () => {
    const collected = await paceOf([...repeated(5, outputText(letters(100)), 300), textEnd(), done], 4, 10);
    const pieces = texts(collected);
    assert.ok(pieces.every(({ text }) => text.length <= 4));
    assert.ok(pieces.every(({ atMs }, index) => index === 0 || atMs - (pieces[index - 1]?.atMs ?? 0) >= 10));
    assert.ok(pieces.length <= 5 * 26);
  });

  check('makes up for no turns that it had nothing to say in', async () => {
    const collected = await paceOf(
      [outputText(letters(4)), 500, outputText(letters(40)), textEnd(), 200, outputText(letters(40), 'b'), done],
      4,
      10,
    );
    assert.ok(texts(collected).every(({ text }) => text.length <= 4));
  });

  check('holds its last grapheme back for 40 ms, and no longer than the text lasts', async () => {
    const collected = await paceOf(
      [outputText('ab'), 100, outputText('cd'), 15, outputText('\u0301'), 15, textEnd(), done],
      4,
      10,
    );
    assert.equal(texts(collected), [
      { text: 'a', atMs: 0 },
      { text: 'b', atMs: 40 },
      { text: 'c', atMs: 100 },
      { text: 'd\u0301', atMs: 130 },
    ]);
  });

  check('waits for the other half of a character as long as that takes', async () => {
    const collected = await paceOf([outputText('ab\ud83d'), 400, outputText('\ude00'), textEnd(), done], 4, 10);
    assert.equal(texts(collected), [
      { text: 'a', atMs: 0 },
      { text: 'b', atMs: 40 },
      { text: '😀', atMs: 400 },
    ]);
  });

  check('comes as it was said when it is not to be cut', async () => {
    const collected = await paceOf(
      [
        outputText('Hello '),
        outputText('wor'),
        outputText('ld!'),
        100,
        outputText('More 👨'),
        10,
        outputText('\u200d👩 here'),
        5,
        textEnd(),
        done,
      ],
      0,
      10,
    );
    assert.equal(texts(collected), [
      { text: 'Hello', atMs: 0 },
      { text: ' wo', atMs: 0 },
      { text: 'rld', atMs: 0 },
      { text: '!', atMs: 40 },
      { text: 'More ', atMs: 100 },
      { text: '👨‍👩 her', atMs: 110 },
      { text: 'e', atMs: 115 },
    ]);
  });

  check('goes on when the clock is set back', async () => {
    const clock = createFakeClock();
    let backMs = 0;
    const moved: FakeClock = { ...clock, now: () => clock.now() - backMs };
    const pieces = pacedPieces(
      silentAfter(outputText(letters(40))).source,
      { clock: moved, chunkSize: 4, delayMs: 10 },
      never,
    );
    await pieces.next();
    backMs = 3_600_000;
    const second = pieces.next();
    await clock.advance(20);
    assert.equal(await second, { done: false, value: outputText('efgh') });
    await pieces.return();
  });
});
