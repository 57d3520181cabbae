import { getEventListeners } from 'node:events';
import fc from 'fast-check';
import * as assert from 'uvu/assert';
import type { OutputEvent } from '../../../src/bridge/output.ts';
import { createPieceShare } from '../../../src/bridge/stream/piece-share.ts';
import { describe, rejection } from '../../check.ts';
import { createFakeClock, type FakeClock } from '../../fake-clock.ts';
import { anyParts, graphemesOf } from '../harness/any-text.ts';
import { pacedPieces } from '../harness/polled.ts';
import {
  called,
  done,
  joined,
  outputText,
  type Received,
  receivedFrom,
  type Step,
  silentAfter,
  textEnd,
  thought,
  withText,
} from '../harness/scripted-log.ts';

const never = new AbortController().signal;
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const textOf = (outputEvent: OutputEvent | undefined): string => (outputEvent?.kind === 'text' ? outputEvent.text : '');
const texts = (collected: readonly Received[]) =>
  collected
    .filter(({ outputEvent }) => outputEvent.kind === 'text')
    .map(({ outputEvent, atMs }) => ({ text: textOf(outputEvent), atMs }));
const paceOf = async (steps: readonly Step[], chunkSize: number, delayMs: number) => {
  const clock = createFakeClock();
  const collected = await receivedFrom(
    pacedPieces(withText(clock, steps), { clock, chunkSize, delayMs }, never),
    clock,
  );
  assert.is(clock.pending(), 0);
  return collected;
};
const repeated = (count: number, ...steps: readonly Step[]): readonly Step[] =>
  Array.from({ length: count }, () => steps).flat();
const letters = (count: number): string => 'abcdefghij'.repeat(Math.ceil(count / 10)).slice(0, count);

const SIZES = [0, 1, 4, 64];
const DELAYS = [0, 10];

describe('paced output', (check) => {
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

  check('never lags a second behind a source that is faster, and grows little by little', async () => {
    const clock = createFakeClock();
    const startedAt = clock.now();
    const collected = await receivedFrom(
      pacedPieces(
        withText(clock, repeated(600, outputText(letters(10)), 5)),
        { clock, chunkSize: 4, delayMs: 10 },
        never,
      ),
      clock,
    );
    let units = 0;
    let longest = 0;
    for (const { text, atMs } of texts(collected)) {
      // The unit after those that are out came at its own step, ten to one.
      assert.ok(atMs - Math.floor(units / 10) * 5 <= 700, `${atMs} ms for unit ${units}`);
      assert.ok(text.length <= Math.max(5, longest * 1.5), `${text.length} after ${longest}`);
      longest = Math.max(longest, text.length);
      units += text.length;
    }
    assert.is(units, 6000);
    assert.ok(longest <= 22, `${longest} units at once, 20 come meanwhile`);
    assert.ok(clock.now() - startedAt >= 3000);
  });

  const long = letters(100_000);
  for (const chunkSize of SIZES) {
    for (const delayMs of [...DELAYS, 1, 250, 2000]) {
      check(`is out soon after its end, were it 100 kB: ${chunkSize} every ${delayMs} ms`, async () => {
        const collected = await paceOf([outputText(long), textEnd(), done], chunkSize, delayMs);
        assert.is(
          texts(collected)
            .map(({ text }) => text)
            .join(''),
          long,
        );
        assert.ok((collected.at(-1)?.atMs ?? 0) <= 800, `${collected.at(-1)?.atMs} ms`);
        const lengths = texts(collected).map(({ text }) => text.length);
        // The last grapheme may come alone.
        const even = Math.ceil(long.length / Math.max(1, lengths.length - 1));
        if (chunkSize > 0) assert.ok(Math.max(...lengths) <= even * 1.1, `${Math.max(...lengths)}, not ${even}`);
        assert.ok(lengths.length <= 2001);
      });
    }
  }

  check('is out soon after its end, were it said in 25,000 parts', async () => {
    const collected = await paceOf([...repeated(25_000, outputText('four')), textEnd(), done], 4, 10);
    assert.ok((collected.at(-1)?.atMs ?? 0) <= 800);
    assert.ok(Math.max(...texts(collected).map(({ text }) => text.length)) <= 1700);
  });

  check('keeps each of several deadlines', async () => {
    const steps = [outputText(long), textEnd(), called('c'), 300, outputText(long, 'b'), textEnd('b'), done];
    const collected = await paceOf(steps, 4, 10);
    const at = (kind: string) => collected.find(({ outputEvent }) => outputEvent.kind === kind)?.atMs ?? Number.NaN;
    assert.ok(at('call') <= 800, `${at('call')} ms`);
    assert.ok(at('end') <= 1100, `${at('end')} ms`);
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

describe('many streams that are paced at once', (check) => {
  const lettersAt = (pieces: readonly Received[], untilMs: number): number =>
    texts(pieces)
      .filter(({ atMs }) => atMs <= untilMs)
      .reduce((sum, { text }) => sum + text.length, 0);
  const runMany = async (streams: number, share = createPieceShare(1000)) => {
    const clock = createFakeClock();
    const startedAt = clock.now();
    const each = Array.from({ length: streams }, async () => {
      const collected: Received[] = [];
      const steps = [...repeated(40, outputText(letters(10)), 25), textEnd(), done];
      for await (const outputEvent of pacedPieces(
        withText(clock, steps),
        { clock, chunkSize: 4, delayMs: 10, share },
        never,
      ))
        collected.push({ outputEvent, atMs: clock.now() - startedAt });
      return collected;
    });
    await clock.advance(2000);
    return { all: await Promise.all(each), share };
  };

  check('send no more pieces together than they share, each as much text as alone', async () => {
    const [alone, among] = [await runMany(1), await runMany(50)];
    const pieces = among.all.flatMap(texts);
    assert.ok(pieces.length <= 1150, `${pieces.length} pieces in a second`);
    for (const one of among.all) {
      assert.is(lettersAt(one, 2000), 400);
      for (const untilMs of [200, 500, 900]) {
        const behind = lettersAt(alone.all[0] ?? [], untilMs) - lettersAt(one, untilMs);
        assert.ok(behind <= 30, `${behind} letters behind at ${untilMs} ms`);
      }
    }
    assert.ok(pieces.every(({ text }) => text.length <= 30));
  });

  check('leave their share as it was, however they end', async () => {
    const { share } = await runMany(5);
    assert.is(share.intervalMs(), 0);
    const clock = createFakeClock();
    const pieces = pacedPieces(
      silentAfter(outputText(letters(40))).source,
      { clock, chunkSize: 4, delayMs: 10, share },
      never,
    );
    await pieces.next();
    assert.ok(share.intervalMs() > 0);
    await pieces.return();
    assert.is(share.intervalMs(), 0);
  });
});

describe('a reader of paced output', (check) => {
  check('who comes late finds larger pieces, not more of them', async () => {
    const clock = createFakeClock();
    const pieces = pacedPieces(
      withText(clock, [outputText(letters(400)), textEnd(), done]),
      { clock, chunkSize: 4, delayMs: 10 },
      never,
    );
    const lengths: number[] = [];
    for (let next = await pieces.next(); next.done !== true; next = await pieces.next()) {
      if (next.value.kind === 'text') lengths.push(next.value.text.length);
      await clock.advance(100);
    }
    assert.is(
      lengths.reduce((sum, length) => sum + length),
      400,
    );
    assert.ok(lengths.length <= 9, String(lengths));
    assert.ok(Math.max(...lengths) <= 100, String(lengths));
    assert.is(clock.pending(), 0);
  });

  check('who comes late to a text without pauses finds it in 2000 pieces at most', async () => {
    const clock = createFakeClock();
    const { source } = silentAfter(...Array.from({ length: 10 }, () => outputText(letters(10_000))), textEnd(), done);
    const pieces = pacedPieces(source, { clock, chunkSize: 1, delayMs: 0 }, never);
    await pieces.next();
    await turn();
    let count = 0;
    for (let next = await pieces.next(); next.value?.kind === 'text'; next = await pieces.next()) count += 1;
    assert.ok(count <= 2000 && count >= 1900, String(count));
    await pieces.return();
  });

  check('who has caught up finds small pieces again', async () => {
    const clock = createFakeClock();
    const source = silentAfter(outputText(letters(100_000)), textEnd());
    const pieces = pacedPieces(source.source, { clock, chunkSize: 1, delayMs: 0 }, never);
    for (let next = await pieces.next(); next.value?.kind === 'text'; ) next = await pieces.next();
    const reading = pieces.next();
    await turn();
    source.appendText(outputText('abc', 'b'));
    assert.equal((await reading).value, outputText('a', 'b'));
    await pieces.return();
  });

  check('does not slow the reading of the source', async () => {
    const clock = createFakeClock();
    const source = silentAfter(...Array.from({ length: 50 }, () => outputText('four')));
    const pieces = pacedPieces(source.source, { clock, chunkSize: 4, delayMs: 10 }, never);
    await pieces.next();
    await turn();
    assert.is(source.asked(), 51);
    await pieces.return();
  });

  const leaves: Readonly<Record<string, (pieces: AsyncGenerator<OutputEvent>, leaving: AbortController) => unknown>> = {
    leaves: (pieces) => pieces.return(undefined),
    throws: (pieces) => rejection(pieces.throw(new Error('left'))),
    'is taken away': (_, leaving) => leaving.abort(new Error('left')),
  };
  const moments: Readonly<Record<string, (pieces: AsyncGenerator<OutputEvent>) => Promise<unknown>>> = {
    'before the first piece': async () => undefined,
    'between two pieces': (pieces) => pieces.next(),
    'while the next turn is awaited': async (pieces) => {
      await pieces.next();
      return pieces.next();
    },
    'while the last grapheme is held back': async (pieces) => {
      for (let count = 0; count < 2; count++) await pieces.next();
      return pieces.next();
    },
    'while nothing is said': async (pieces) => {
      for (let count = 0; count < 3; count++) await pieces.next();
      return pieces.next();
    },
  };
  for (const [how, leave] of Object.entries(leaves)) {
    for (const [when, read] of Object.entries(moments)) {
      // What has not begun or is waited for does not hear of it.
      if (how === 'throws' && when !== 'between two pieces') continue;
      check(`who ${how} ${when} ends the source once, and every timer`, async () => {
        const clock = createFakeClock();
        const leaving = new AbortController();
        const { source, ended, asked, appendText } = silentAfter(outputText('Hello you'));
        const pieces = pacedPieces(source, { clock, chunkSize: 4, delayMs: 10 }, leaving.signal);
        const reading = read(pieces);
        await clock.advance(
          when === 'while the next turn is awaited' ? 5 : when.startsWith('while the last') ? 25 : 60,
        );
        leave(pieces, leaving);
        await reading;
        assert.equal(await pieces.next(), { done: true, value: undefined });
        appendText(outputText('more'));
        await turn();
        assert.is(asked(), when === 'before the first piece' ? 0 : 2);
        assert.is(ended.count, 1);
        assert.is(clock.pending(), 0);
        assert.is(getEventListeners(leaving.signal, 'abort').length, 0);
      });
    }
  }

  check('fails with its source, after all output before', async () => {
    const clock = createFakeClock();
    const broken = new Error('cut');
    const source = (async function* () {
      yield outputText('Hello');
      throw broken;
    })();
    const collected: OutputEvent[] = [];
    const reading = (async () => {
      for await (const outputEvent of pacedPieces(source, { clock, chunkSize: 4, delayMs: 10 }, never))
        collected.push(outputEvent);
    })();
    const failed = rejection(reading);
    await clock.advance(100);
    assert.is(await failed, broken);
    assert.equal(collected, [outputText('Hell'), outputText('o')]);
    assert.is(clock.pending(), 0);
  });

  check('is not troubled by a source that fails once he has left', async () => {
    const clock = createFakeClock();
    const leaving = new AbortController();
    const source = (async function* () {
      yield outputText('Hello you');
      await new Promise((_, reject) => leaving.signal.addEventListener('abort', () => reject(new Error('left'))));
    })();
    const pieces = pacedPieces(source, { clock, chunkSize: 4, delayMs: 10 }, leaving.signal);
    await pieces.next();
    leaving.abort();
    await turn();
    assert.equal(await pieces.next(), { done: true, value: undefined });
    assert.is(clock.pending(), 0);
  });
});
