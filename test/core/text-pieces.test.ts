import * as fc from 'fast-check';
import * as assert from 'uvu/assert';
import { cutText, withSingleBlanks } from '../../src/core/text.ts';
import { runAtOnce } from '../../src/core/time-slices.ts';
import { describe, thorough } from '../check.ts';
import { codePoint } from '../code-points.ts';

const RUNS = thorough(100, 5000);
const atOnce = (text: string): string => text.normalize('NFC').replace(/\s+/g, ' ');

/** What combines, what separates, and letters of scripts that compose in ways of their own. */
const PIECES = [
  ...[
    'a',
    'e\u0301',
    'i\u0301\u0316',
    '\u0316\u0301',
    '\u0344',
    '\u212b',
    '\u1e9b\u0323',
    ' ',
    '\n',
    '\t\u2003',
    '\r\n',
    '\u00a0',
  ],
  ...['\u1112\u1161\u11ab', '\u1161', '\u11a8', '\uac00\u11a8', '\u0928\u093c', '\u09c7\u09be', '\u1025\u102e'],
  ...[
    '\u{11099}\u{110ba}',
    '\u{16d63}\u{16d67}\u{16d67}',
    '\u{16d67}',
    '\u{2f800}',
    '\u6f22',
    '\u{1f44d}\u{1f3fd}',
    '\ud83d',
    '\udc4d',
  ],
];
const anyText = fc
  .array(fc.oneof(fc.constantFrom(...PIECES), fc.string({ unit: codePoint, maxLength: 4 })), { maxLength: 30 })
  .map((parts) => parts.join(''));

describe('a text in pieces', (check) => {
  check('is the text again when they are joined, and no surrogate pair is cut', () => {
    fc.assert(
      fc.property(fc.string({ unit: codePoint, maxLength: 40 }), fc.integer({ min: 1, max: 5 }), (text, chars) => {
        const pieces = [...cutText(text, chars)];
        assert.is(pieces.join(''), text);
        for (const piece of pieces) assert.ok(piece.length <= chars + 1 && (piece !== '' || text === ''));
        if (text.isWellFormed()) for (const piece of pieces) assert.ok(piece.isWellFormed());
      }),
      { numRuns: RUNS },
    );
  });
});

describe('a text with single blanks', (check) => {
  check('is what normalising all of it at once makes, wherever it is cut', () => {
    // Long enough for a cut, which moves over what is around it.
    fc.assert(
      fc.property(
        anyText,
        anyText,
        fc.constantFrom('x', ' ', '\u6f22', '\n'),
        fc.nat({ max: 40 }),
        (before, around, filler, shift) => {
          const text = `${before}${filler.repeat(16_384 - shift)}${around}${around}${filler.repeat(300)}${before}`;
          assert.is(runAtOnce(withSingleBlanks(text)), atOnce(text));
        },
      ),
      { numRuns: RUNS },
    );
  });

  check('is cut within no character that is composed of several', () => {
    const isOneOfMany = (code: number): boolean => code >= 0xac00 && code <= 0xd7a3 && code % 997 !== 0;
    for (let code = 0xa0; code <= 0x10ffff; code++) {
      const parts = String.fromCodePoint(code).normalize('NFD');
      if (isOneOfMany(code) || [...parts].length === 1) continue;
      // The cut is looked for behind the first character, then behind the second.
      for (const shift of [1, 2]) {
        const text = `${'\u6f22'.repeat(16_384 - shift)}${parts.repeat(3)}`;
        const end = `\u6f22${parts.repeat(3)}`.normalize('NFC');
        assert.ok(runAtOnce(withSingleBlanks(text)).endsWith(end), code.toString(16));
      }
    }
  });

  check('is cut within no pair of surrogates, also where half a pair follows it', () => {
    for (let shift = 0; shift < 12; shift++) {
      const text = `${'x'.repeat(16_384 - shift)}a\u{16d63}\u{16d67}\u{16d67}\udc4d${'x'.repeat(50)}`;
      assert.is(runAtOnce(withSingleBlanks(text)), atOnce(text), `${shift}`);
    }
  });

  check('takes time in proportion to its length, also of marks that have to be sorted', () => {
    const timeOf = (text: string): number => {
      const startedAt = performance.now();
      runAtOnce(withSingleBlanks(text));
      return performance.now() - startedAt;
    };
    for (const one of ['\u0301\u0316', 'a\u0301\u0316', '\n', 'a\n'])
      assert.ok(timeOf(one.repeat(200_000)) < 1000, JSON.stringify(one));
  });
});
