import { MIN_NOISE, noiseOfPair } from './decoders/ciphers.ts';

// A person may hide what a text says: "a2lsbA==" is "kill" in base64, "h0w" is "how". decode.ts has a decoder for each such way, and
// asking all of them takes ten times as long as reading the text once. Most texts are printable ASCII in which nothing is hidden.
// So `findHints` reads each character once, and says which decoders have a reason to look at all: as a rule none.
// A hint is coarser than the decoder's own test and never finer: without the hint the decoder would return its input.

/** The decoders, and what gives each of them a reason to look. Each hint is one bit of a number. */
export const HINTS = {
  /** `&#107;` or `\x6b`, or `<wbr>` within a word. */
  escapes: 1,
  /** `%6b` or `=6b`. */
  percent: 2,
  /** `a2lsbA==` */
  base64: 4,
  /** `NNUWY3BAOBSW64DMMU` */
  base32: 8,
  /** `6b 69 6c 6c 20 68 65 72` */
  hex: 16,
  /** `107 105 108 108 32 104`, or the same in zeros and ones. */
  charCodes: 32,
  /** `-.- .. .-.. .-.. .` */
  morse: 64,
  /** `kilo india lima lima` */
  nato: 128,
  /** `k.i.l.l.e.r` */
  spaced: 256,
  /** `k1ll` */
  leet: 512,
  /** Letters that are no English, such as `xvyy gurz nyy`. */
  ciphers: 1024,
  /** `meht llik` */
  backwards: 2048,
  /** A sign that opens or closes control tokens: no decoder, but `neutralise`. */
  tokenEdge: 4096,
} as const;

// What a character is: several kinds at a time, each one bit above those of the hints.
const LETTER = 1 << 13;
const SMALL = 1 << 14;
const CAPITAL = 1 << 15;
const DIGIT = 1 << 16;
const BASE64_SIGN = 1 << 17;
const BASE32_DIGIT = 1 << 18;
const HEX = 1 << 19;
const HEX_GAP = 1 << 20;
const LEET_SIGN = 1 << 21;
const MORSE_MARK = 1 << 22;
const MORSE_GAP = 1 << 23;
const PRINTABLE = 1 << 24;

/** The characters of each kind, and those that are a hint by themselves. */
const KINDS: readonly (readonly [kind: number, chars: RegExp])[] = [
  [HINTS.escapes, /[&\\%]/],
  [HINTS.percent, /[%=]/],
  [HINTS.tokenEdge, /[<|[\]~]/],
  [LETTER, /[A-Za-z]/],
  [SMALL, /[a-z]/],
  [CAPITAL, /[A-Z]/],
  [DIGIT, /\d/],
  [BASE64_SIGN, /[\w+/\n-]/],
  [BASE32_DIGIT, /[A-Za-z2-7]/],
  [HEX, /[\dA-Fa-f]/],
  [HEX_GAP, /[xX ,:;\n-]/],
  [LEET_SIGN, /[013457@$!]/],
  [MORSE_MARK, /[.*_-]/],
  [MORSE_GAP, /[ \n\t/|]/],
  [PRINTABLE, /[\n\t\x20-\x7e]/],
];

/** The hints that one character is enough for. */
const OF_ONE_CHARACTER = HINTS.escapes | HINTS.percent | HINTS.tokenEdge;

/** The kinds and hints of each ASCII character, by its code; 0 for a control character. */
const kindOf = Int32Array.from({ length: 128 }, (_, code) =>
  KINDS.reduce((bits, [kind, chars]) => (chars.test(String.fromCharCode(code)) ? bits | kind : bits), 0),
);

/** Three letters that every match of the decoders' own hints has in it: `<wbr>`; `alpha`, `echo`, and so on; `eht`, `uoy`. */
const TRIPLES: readonly (readonly [hint: number, triples: string])[] = [
  [HINTS.escapes, 'wbr'],
  [HINTS.nato, 'lfa lph ech dia osc nif yan'],
  [HINTS.backwards, 'eht uoy woh sih eka hti lli bmo'],
];

/** Three letters are fifteen bits, five for each: their place in the alphabet, or 0 for what is no letter. */
const TRIPLE_MASK = 0x7fff;
const hintOfTriple = new Uint16Array(TRIPLE_MASK + 1);
for (const [hint, triples] of TRIPLES) {
  for (const triple of triples.split(' ')) {
    const place = [...triple].reduce((sum, letter) => (sum << 5) | (letter.charCodeAt(0) & 31), 0);
    hintOfTriple[place] = (hintOfTriple[place] ?? 0) | hint;
  }
}

const EQUALS_SIGN = 0x3d;
const MIN_BASE64_CHARS = 8;
/** A shorter run counts if it spells ASCII alone. Without a letter its first byte is above that: dates, numbers. */
const CERTAIN_BASE64_CHARS = 16;
const MIN_BASE32_CHARS = 16;
const MIN_HEX_DIGITS = 16;
const MIN_BITS = 24;
const MIN_DECIMAL_DIGITS = 12;
const MIN_DECIMAL_GAPS = 5;
const MIN_MORSE_MARKS = 5;
const MIN_MORSE_GAPS = 4;
const MIN_SPACED_LETTERS = 6;

/**
 * The hints of a text, 0 if there are none. Undefined where it is more than printable ASCII, tabs and line feeds. One loop with plain
 * numbers, because every character of every text goes through it: what is counted belongs to a run of characters of some kind, and
 * starts again after it.
 */
export const findHints = (text: string): number | undefined => {
  let hints = 0;
  let before = 0;
  let letterBefore = 0;
  let triple = 0;
  let noise = 0;
  let base64Chars = 0;
  let base64Kinds = 0;
  let isBase64Mixed = false;
  let base32Chars = 0;
  let hexDigits = 0;
  let hexGaps = 0;
  let morseMarks = 0;
  let morseGaps = 0;
  let wordChars = 0;
  let lettersAlone = 0;
  let isLeetOpen = false;
  // One step more than there are characters: a blank ends what is open.
  for (let index = 0; index <= text.length; index++) {
    const code = index < text.length ? text.charCodeAt(index) : 0x20;
    const kind = code < 128 ? (kindOf[code] ?? 0) : 0;
    if (kind === 0) return undefined;
    const letter = (kind & LETTER) === 0 ? 0 : code & 31;
    hints |= kind & OF_ONE_CHARACTER;

    // nato, backwards, <wbr>: three letters in a row.
    triple = ((triple << 5) | letter) & TRIPLE_MASK;
    hints |= hintOfTriple[triple] ?? 0;

    // ciphers: pairs of letters that are rare in English add noise, usual ones take some away; looked at where a word ends.
    noise = Math.max(noise, 0) + noiseOfPair(letterBefore, letter);
    if (letter === 0 && noise > MIN_NOISE) hints |= HINTS.ciphers;
    letterBefore = letter;

    // base64: a run in which a capital or a digit follows a small letter or a digit, long enough or closed by "=".
    if ((kind & BASE64_SIGN) !== 0) {
      base64Chars += 1;
      base64Kinds |= kind;
      if ((before & (SMALL | DIGIT)) !== 0 && (kind & (CAPITAL | DIGIT)) !== 0) isBase64Mixed = true;
    } else {
      const isLong = base64Chars >= MIN_BASE64_CHARS || code === EQUALS_SIGN;
      const isPossible = (isLong && (base64Kinds & LETTER) !== 0) || base64Chars >= CERTAIN_BASE64_CHARS;
      if (isBase64Mixed && isPossible) hints |= HINTS.base64;
      base64Chars = 0;
      base64Kinds = 0;
      isBase64Mixed = false;
    }

    // base32: sixteen of its digits in a row.
    base32Chars = (kind & BASE32_DIGIT) === 0 ? 0 : base32Chars + 1;
    if (base32Chars === MIN_BASE32_CHARS) hints |= HINTS.base32;

    // hex, charCodes: digits with nothing but gaps between them.
    if ((kind & HEX) !== 0) hexDigits += 1;
    else if ((kind & HEX_GAP) !== 0) hexGaps += 1;
    else hexDigits = hexGaps = 0;
    if (hexDigits >= MIN_DECIMAL_DIGITS) {
      if (hexDigits >= MIN_HEX_DIGITS) hints |= HINTS.hex;
      if (hexDigits >= MIN_BITS || hexGaps >= MIN_DECIMAL_GAPS) hints |= HINTS.charCodes;
    }

    // morse: dots and dashes with gaps between them.
    if ((kind & MORSE_MARK) !== 0) {
      morseMarks += 1;
      if (morseMarks >= MIN_MORSE_MARKS && morseGaps >= MIN_MORSE_GAPS) hints |= HINTS.morse;
    } else if ((kind & MORSE_GAP) !== 0) morseGaps += 1;
    else morseMarks = morseGaps = 0;

    // spaced: six words in a row that are one letter each.
    if ((kind & (LETTER | DIGIT)) !== 0) wordChars += 1;
    else if (wordChars > 0) {
      lettersAlone = wordChars === 1 && (before & LETTER) !== 0 ? lettersAlone + 1 : 0;
      if (lettersAlone === MIN_SPACED_LETTERS) hints |= HINTS.spaced;
      wordChars = 0;
    }

    // leet: signs that stand for letters, between two letters.
    if (letter !== 0) {
      if (isLeetOpen) hints |= HINTS.leet;
      isLeetOpen = false;
    } else isLeetOpen = (kind & LEET_SIGN) !== 0 && (isLeetOpen || (before & LETTER) !== 0);
    before = kind;
  }
  return hints;
};
