import { getEventListeners } from 'node:events';
import * as assert from 'uvu/assert';
import type { OutputEvent } from '../../../../src/bridge/output.ts';
import { describe, rejection } from '../../../check.ts';
import { createFakeClock } from '../../../fake-clock.ts';
import { pacedPieces } from '../../harness/polled.ts';
import { done, outputText, silentAfter, textEnd, withText } from '../../harness/scripted-log.ts';
import { letters, never, turn } from './world.ts';

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
