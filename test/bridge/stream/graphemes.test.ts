import fc from 'fast-check';
import * as assert from 'uvu/assert';
import { createGrowingText, hasGraphemes, type TextContinuation } from '../../../src/bridge/stream/graphemes.ts';
import { describe } from '../../check.ts';
import { anyParts, anyText, graphemesOf } from '../harness/any-text.ts';

const textOf = (...parts: readonly string[]) => {
  const text = createGrowingText();
  for (const part of parts) text.add(part);
  return text;
};
const one = { graphemes: 1, units: 0 };
const all = { graphemes: Number.POSITIVE_INFINITY, units: 0 };
const untilEmpty = (next: () => string): readonly string[] => {
  const pieces: string[] = [];
  for (let piece = next(); piece !== ''; piece = next()) pieces.push(piece);
  return pieces;
};

describe('a text in graphemes', (check) => {
  check('comes out as it went in, one grapheme at a time, however it was cut', () => {
    fc.assert(
      fc.property(anyParts, (parts) => {
        const text = createGrowingText();
        const pieces: string[] = [];
        for (const part of parts) {
          text.add(part);
          pieces.push(...untilEmpty(() => text.take(one, 'more')));
        }
        pieces.push(...untilEmpty(() => text.take(one, 'nothing')));
        assert.equal(pieces, graphemesOf(parts.join('')));
        assert.is(text.units(), 0);
      }),
      { numRuns: 300 },
    );
  });

  check('holds back one grapheme at most, and half a character', () => {
    fc.assert(
      fc.property(anyText, (whole) => {
        const text = textOf(whole);
        const sure = text.take(all, 'more');
        const rest = whole.slice(sure.length);
        assert.is(text.units(), rest.length);
        assert.ok(graphemesOf(rest.replace(/[\ud800-\udbff]$/, '')).length <= 1, JSON.stringify(rest));
      }),
    );
  });

  check('gives as many graphemes and as many units as are wanted, and no more than that takes', () => {
    fc.assert(
      fc.property(anyParts, fc.integer({ min: 1, max: 9 }), fc.nat(200), (parts, graphemes, units) => {
        const known = graphemesOf(parts.join(''));
        const text = textOf(...parts);
        for (let at = 0; at < known.length; ) {
          const piece = text.take({ graphemes, units }, 'nothing');
          let count = 0;
          for (let length = 0; at + count < known.length && (count < graphemes || length < units); count++)
            length += known[at + count]?.length ?? 0;
          assert.is(piece, known.slice(at, at + count).join(''));
          at += count;
        }
        assert.is(text.take(one, 'nothing'), '');
      }),
    );
  });

  check('separates every character of the basic plane from adjacent ones as the standard does', () => {
    // Ideographs and syllables are many and alike, so of these a part will do.
    for (let from = 0; from < 0x10000; from += from >= 0x3400 && from < 0xd700 ? 832 : 64) {
      const units = Array.from({ length: 64 }, (_, index) => String.fromCharCode(from + index));
      const whole = units.map((unit) => `a${unit}${unit}中`).join('');
      const text = textOf(whole);
      const pieces = untilEmpty(() => text.take(one, 'nothing'));
      assert.equal(pieces, graphemesOf(whole), `from ${from.toString(16)}`);
    }
  });

  const flag = '\ud83c\uddeb\ud83c\uddf7';
  const held: readonly (readonly [string, TextContinuation, string])[] = [
    ['hi', 'more', 'h'],
    ['hi', 'for-now', 'hi'],
    ['hi', 'nothing', 'hi'],
    ['a\ud83d', 'more', ''],
    ['a\ud83d', 'for-now', 'a'],
    ['a\ud83d', 'nothing', 'a\ud83d'],
    ['a\r', 'more', 'a'],
    [`a${flag}`, 'more', 'a'],
    [`a${flag}${flag}b`, 'more', `a${flag}${flag}`],
  ];
  for (const [text, prospect, sure] of held) {
    check(`knows ${JSON.stringify(sure)} of ${JSON.stringify(text)} while ${prospect} may follow`, () => {
      assert.is(textOf(text).take(all, prospect), sure);
    });
  }

  check('joins a family that came in two parts', () => {
    const text = textOf('hi 👨');
    assert.is(text.take(all, 'more'), 'hi ');
    text.add('\u200d👩\u200d👧 ok');
    assert.is(text.take(all, 'more'), '👨‍👩‍👧 o');
    assert.is(text.take(all, 'nothing'), 'k');
  });

  check('cuts a letter with thousands of marks after 64 units, and between characters', () => {
    const pieces = untilEmpty(
      (
        (text) => () =>
          text.take(one, 'nothing')
      )(textOf(`e${'\u0301'.repeat(5000)}`)),
    );
    assert.is(Math.max(...pieces.map((piece) => piece.length)), 64);
    const tones = untilEmpty(
      (
        (text) => () =>
          text.take(one, 'nothing')
      )(textOf(`é${'\u{1f3fd}'.repeat(50)}`)),
    );
    assert.is(tones[0], `é${'\u{1f3fd}'.repeat(31)}`);
    assert.ok(tones.every((piece) => piece.isWellFormed()));
  });

  check('part by part keeps their number, and only moves what may still grow', () => {
    const text = textOf('Hello ', 'wor', 'ld 👨', '\u200d👩', ' end');
    assert.equal(
      untilEmpty(() => text.takePart('more')),
      ['Hello', ' wo', 'rld ', '👨‍👩 en'],
    );
    assert.is(text.takePart('nothing'), 'd');
  });

  check('part by part comes out as it went in', () => {
    fc.assert(
      fc.property(anyParts, (parts) => {
        const known = graphemesOf(parts.join(''));
        const text = textOf(...parts);
        const pieces: string[] = [];
        while (text.units() > 0) pieces.push(text.takePart('nothing'));
        assert.equal(pieces.flatMap(graphemesOf), known);
        assert.ok(pieces.length <= parts.length);
      }),
    );
  });

  check('is counted no further than needed', () => {
    assert.is(hasGraphemes('👨‍👩‍👧‍👦'.repeat(15), 16), false);
    assert.is(hasGraphemes('👨‍👩‍👧‍👦'.repeat(16), 16), true);
    assert.is(hasGraphemes('', 1), false);
  });
});
