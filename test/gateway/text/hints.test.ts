import * as assert from 'uvu/assert';
import { decodeCiphers, decodeMorse, decodeNato } from '../../../src/gateway/text/decoders/ciphers.ts';
import {
  decodeBase32,
  decodeBase64,
  decodeCharCodes,
  decodeHex,
} from '../../../src/gateway/text/decoders/encodings.ts';
import { decodeEscapes, decodePercent } from '../../../src/gateway/text/decoders/escapes.ts';
import { decodeBackwards, decodeLeet, joinSpaced } from '../../../src/gateway/text/decoders/spelling.ts';
import { findHints, HINTS } from '../../../src/gateway/text/hints.ts';
import { isPlain, neutralise, normalise } from '../../../src/gateway/text/normalize.ts';
import { describe, thorough } from '../../check.ts';
import { createStopwatch } from '../../stopwatch.ts';
import { createViews, decodeHidden } from '../harness/at-once.ts';
import { DISGUISES, MARKER, rotated } from './disguises.ts';

const CHANGES: Readonly<Record<keyof typeof HINTS, (text: string) => string>> = {
  escapes: decodeEscapes,
  percent: decodePercent,
  base64: decodeBase64,
  base32: decodeBase32,
  hex: decodeHex,
  charCodes: decodeCharCodes,
  morse: decodeMorse,
  nato: decodeNato,
  spaced: joinSpaced,
  leet: decodeLeet,
  ciphers: decodeCiphers,
  backwards: decodeBackwards,
  tokenEdge: neutralise,
};
const names = Object.keys(HINTS) as (keyof typeof HINTS)[];

/** Numbers below a limit, the same ones in every run. */
const createNumbers = (seed: number) => {
  let state = seed;
  return (below: number): number => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
};

/** What each decoder looks for, and what only resembles it. */
const PIECES: readonly string[] = [
  ...Object.values(DISGUISES).filter(isPlain),
  ...Array.from({ length: 25 }, (_, turn) => rotated(MARKER, turn + 1)),
  ...'alpha bravo charlie delta echo fox-trot golf india oscar uniform yankee x-ray h i j k a b c'.split(' '),
  ...'eht uoy woh siht ekam htiw llik lliw bmob tahw evah dna the you how this make with kill bomb'.split(' '),
  ...'h0w b0mb k1ll p4ssw0rd l33t @dmin $end m@ke iPhone 2024-05-01 GPT4 U.S.A. e.g. - -- ... * _'.split(' '),
  ...'0x41 41 62 6f 6d 01100010 0b01100010 104 111 119 &#104; &amp; \\x68 \\u0068 %68 %2568 =68=6f'.split(' '),
  ...'<|im_end|> </s> [INST] [[text ]~x] |> .-- .... --- == https://example.com/a?b=c&d=1'.split(' '),
  ' ',
  '\n',
  '\t',
  ', ',
  '. ',
  ' / ',
];
const ALPHABETS: readonly string[] = [
  Array.from({ length: 95 }, (_, code) => String.fromCharCode(code + 32)).join(''),
  'abcdefghijklmnopqrstuvwxyz ',
  'abcdefABCDEF0123456789 ,:;\n-x',
  'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567=\n',
  'abcxyzABCXYZ0189+/-_=\n',
  '01 b\n,',
  '0123456789 ,;\n',
  '.-* _/|\n\t',
  'a b.c-d1\n',
  'etaoin shrdlu013457@$!',
];

/** Half words and signs of disguises, half characters of an alphabet that suits a decoder. */
const createText = (number: (below: number) => number): string => {
  const alphabet = ALPHABETS[number(ALPHABETS.length)] ?? '';
  const parts = Array.from({ length: 1 + number(12) }, () => {
    if (number(2) === 0)
      return Array.from({ length: 1 + number(24) }, () => alphabet[number(alphabet.length)]).join('');
    const piece = PIECES[number(PIECES.length)] ?? '';
    const from = number(3) === 0 ? number(piece.length) : 0;
    return piece.slice(from, number(3) === 0 ? from + number(piece.length) : piece.length);
  });
  return parts.join(number(3) === 0 ? ' ' : '');
};

/** The shortest texts in which the decoders find something. */
const SHORTEST: readonly (readonly [name: keyof typeof HINTS, text: string])[] = [
  ['base64', 'aGFzaGVz'],
  ['base64', 'Ym9tYg=='],
  ['base64', '2716155424122655'],
  ['base32', 'MF2HIYLDNMQG433X'],
  ['hex', '686f7720746f6861'],
  ['charCodes', '104 111 119 32 116 111 32'],
  ['charCodes', '116 104 101 121 97 114.'],
  ['charCodes', '011010000110111101110111'],
  ['morse', '. - .- . -'],
  ['nato', 'echo kilo lima golf'],
  ['nato', 'alfa kilo lima golf'],
  ['nato', 'alpha kilo lima golf'],
  ['nato', 'india kilo lima golf'],
  ['nato', 'oscar kilo lima golf'],
  ['nato', 'uniform kilo lima golf'],
  ['nato', 'yankee kilo lima golf'],
  ['spaced', 'a bom b s h e r e'],
  ['spaced', 'b o m b e r'],
  ...'eht uoy woh siht ekam htiw lliw llik bmob'.split(' ').map((word) => ['backwards', `${word} dna rof`] as const),
  ['leet', 'h0w b0mb'],
];

const TEXTS = thorough(1200, 200_000);

describe('the hints of a text', (check) => {
  check('are never missing where a decoder changes something', () => {
    const number = createNumbers(7);
    const changes = new Map<string, number>();
    for (let made = 0; made < TEXTS; made++) {
      const text = createText(number);
      const hints = findHints(text) ?? 0;
      assert.type(findHints(text), 'number');
      for (const name of names) {
        if (CHANGES[name](text) === text) continue;
        changes.set(name, (changes.get(name) ?? 0) + 1);
        assert.ok((hints & HINTS[name]) !== 0, `${name} changes ${JSON.stringify(text)}`);
      }
    }
    // Without texts that are changed, nothing would be shown.
    for (const name of names) assert.ok((changes.get(name) ?? 0) >= 20, `${name}: ${changes.get(name)} of ${TEXTS}`);
  });

  for (const [name, text] of SHORTEST)
    check(`include ${name} for ${JSON.stringify(text)}`, () => {
      assert.is.not(CHANGES[name](text), text);
      assert.ok(((findHints(text) ?? 0) & HINTS[name]) !== 0);
    });

  check('leave a text the views that it has when every decoder looks at it', () => {
    const number = createNumbers(11);
    let plain = 0;
    for (let made = 0; made < TEXTS; made++) {
      const text = createText(number);
      const hidden = decodeHidden(text);
      const expected = [normalise(text), ...(hidden === undefined ? [] : [hidden])].map(neutralise);
      assert.equal(createViews(text), expected);
      if (hidden === undefined) plain += 1;
    }
    assert.ok(plain > TEXTS / 10 && plain < TEXTS, `${plain} of ${TEXTS}`);
  });

  check('are not looked for in more than printable ASCII', () => {
    for (const char of ['\0', '\r', '\x7f', '\x85', 'é', '\u200b', '\ud800', '💣'])
      assert.is(findHints(`a${char}b`), undefined);
    for (const text of ['', '\n\t ~!', 'words and 1 number']) assert.type(findHints(text), 'number');
  });

  check('are none in ordinary English, so that it costs a fraction of all decoders', () => {
    const text =
      'Hello, I ordered a pair of hiking boots two weeks ago and they still have not arrived at my door. The tracking page says that the parcel waits in a depot near the airport. Could somebody please find out what happened, and tell me why?';
    assert.is(findHints(text), 0);
    assert.is(findHints('Order 000000012345 of 2026-11-22, call 555 0123 4567.'), 0);
    const timeOf = (run: (text: string) => unknown): number => {
      const elapsed = createStopwatch();
      for (let time = 0; time < 5000; time++) run(text);
      return elapsed();
    };
    timeOf(decodeHidden);
    timeOf(createViews);
    // Measured: 1.6 us and 11 us.
    assert.ok(timeOf(createViews) * 2 < timeOf(decodeHidden));
  });
});
