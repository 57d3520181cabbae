import * as assert from 'uvu/assert';
import { createPieceShare } from '../../../../src/bridge/stream/piece-share.ts';
import { describe } from '../../../check.ts';
import { createFakeClock } from '../../../fake-clock.ts';
import { pacedPieces } from '../../harness/polled.ts';
import {
  called,
  done,
  outputText,
  type Received,
  receivedFrom,
  silentAfter,
  textEnd,
  withText,
} from '../../harness/scripted-log.ts';
import { DELAYS, letters, long, never, paceOf, repeated, SIZES, texts } from './world.ts';

describe('paced output', (check) => {
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

  check('a source that never pauses: about a piece each interval, for as long as it lasts', async () => {
    const clock = createFakeClock();
    const collected = await receivedFrom(
      pacedPieces(
        withText(clock, repeated(100, outputText(letters(12)), 30)),
        { clock, chunkSize: 4, delayMs: 50 },
        never,
      ),
      clock,
    );
    const times = texts(collected).map(({ atMs }) => atMs);
    const gaps = times.slice(1, -1).map((atMs, index) => atMs - (times[index] ?? 0));
    assert.ok(times.length <= 80, `${times.length} pieces in three seconds`);
    assert.ok(Math.min(...gaps) >= 20, `two pieces within ${Math.min(...gaps)} ms`);
  });

  check('keeps each of several deadlines', async () => {
    const steps = [outputText(long), textEnd(), called('c'), 300, outputText(long, 'b'), textEnd('b'), done];
    const collected = await paceOf(steps, 4, 10);
    const at = (kind: string) => collected.find(({ outputEvent }) => outputEvent.kind === kind)?.atMs ?? Number.NaN;
    assert.ok(at('call') <= 800, `${at('call')} ms`);
    assert.ok(at('end') <= 1100, `${at('end')} ms`);
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
