import { MARKER } from './disguises.ts';

const COVER = 'The river was calm and the boats lay still in the morning sun. ';
const DECOY = 'lovely weather today my friends';

const bytesOf = (text: string): readonly number[] => [...new TextEncoder().encode(text)];
const inDigits = (text: string, base: 2 | 4 | 16, width: number): readonly number[] =>
  bytesOf(text).flatMap((byte) =>
    Array.from(byte.toString(base).padStart(width, '0'), (digit) => Number.parseInt(digit, base)),
  );
const bitsOf = (text: string): readonly number[] => inDigits(text, 2, 8);
const sevenBitsOf = (text: string): readonly number[] => inDigits(text, 2, 7);

/** Writes a message as a row of invisible characters. */
type Writing = (message: string) => readonly string[];

const inBits =
  (zero: string, one: string, digits = bitsOf): Writing =>
  (message) =>
    digits(message).map((bit) => (bit === 0 ? zero : one));
const inDigitsOf =
  (signs: readonly string[], base: 4 | 16, width: number): Writing =>
  (message) =>
    inDigits(message, base, width).map((digit) => signs[digit] ?? '');
const inBytes =
  (first: number): Writing =>
  (message) =>
    bytesOf(message).map((byte) => String.fromCodePoint(first + byte));
const selectors: Writing = (message) =>
  bytesOf(message).map((byte) => String.fromCodePoint(byte < 16 ? 0xfe00 + byte : 0xe0100 + byte - 16));
const selectorNibbles: readonly string[] = Array.from({ length: 16 }, (_, index) =>
  String.fromCodePoint(0xfe00 + index),
);

/** The channels: every kind of invisible character that carries something. */
const WRITINGS: Readonly<Record<string, Writing>> = {
  'tag characters': inBytes(0xe0000),
  'selectors as bytes': selectors,
  'selectors as bytes from 0': inBytes(0xe0100),
  'selectors as half bytes': inDigitsOf(selectorNibbles, 16, 2),
  'bits in VS15 and VS16': inBits('\ufe0e', '\ufe0f'),
  'bits in zero-width space and non-joiner': inBits('\u200b', '\u200c'),
  'bits in non-joiner and joiner': inBits('\u200c', '\u200d'),
  'seven bits in zero-width space and joiner': inBits('\u200b', '\u200d', sevenBitsOf),
  'bits in word joiner and byte order mark': inBits('\u2060', '\ufeff'),
  'bits in invisible times and plus': inBits('\u2062', '\u2064'),
  'bits in direction marks': inBits('\u200e', '\u200f'),
  'bits in isolates': inBits('\u2066', '\u2069'),
  'bits in shaping controls': inBits('\u206a', '\u206d'),
  'bits in soft hyphen and grapheme joiner': inBits('\u00ad', '\u034f'),
  'bits in soft hyphen and zero-width space': inBits('\u00ad', '\u200b'),
  'bits in grapheme joiner and word joiner': inBits('\u034f', '\u2060'),
  'bits in Hangul fillers': inBits('\u3164', '\uffa0'),
  'bits in Mongolian selectors': inBits('\u180b', '\u180e'),
  'bits in Khmer vowels': inBits('\u17b4', '\u17b5'),
  'bits in control characters': inBits('\x01', '\x02'),
  'bits in C1 control characters': inBits('\x80', '\x81'),
  'bits in annotation marks': inBits('\ufff9', '\ufffb'),
  'bits in a selector and a zero-width space': inBits('\ufe0f', '\u200b'),
  'four zero-width characters as digits': inDigitsOf(['\u200b', '\u200c', '\u200d', '\u2060'], 4, 4),
  'control characters as half bytes': inDigitsOf(
    Array.from({ length: 16 }, (_, index) => String.fromCharCode(0x90 + index)),
    16,
    2,
  ),
};

const strewnOver = (signs: readonly string[], cover: string): string => {
  const chars = [...cover.repeat(Math.ceil(signs.length / cover.length) + 1)];
  return chars.map((char, index) => char + (signs[index] ?? '')).join('');
};
const inserted = (signs: readonly string[], every: number, noise: readonly string[]): readonly string[] =>
  signs.flatMap((sign, index) =>
    index % every === every - 1 ? [sign, noise[((index / every) % noise.length) | 0] ?? ''] : [sign],
  );

/** Ways of placing the row in a text. */
const PLACES: Readonly<Record<string, (write: Writing) => string>> = {
  'in one block': (write) => `${COVER}${write(MARKER).join('')}${COVER}`,
  'behind one visible character': (write) => `😀${write(MARKER).join('')}`,
  'after a decoy block': (write) => `Hi${write(DECOY).join('')} there. ${COVER}${write(MARKER).join('')}${COVER}`,
  'in two blocks': (write) => {
    const signs = write(MARKER);
    const half = Math.floor(signs.length / 2);
    return `${signs.slice(0, half).join('')}${COVER}${signs.slice(half).join('')}!`;
  },
  'strewn over a text': (write) => strewnOver(write(MARKER), COVER),
  'with a stray variation selector': (write) =>
    `A heart \u2764\ufe0f and an a\ufe00. ${COVER}${write(MARKER).join('')}`,
  'with three more kinds mixed in': (write) =>
    COVER + inserted(write(MARKER), 24, ['\u2063', '\u180f', '\u206e']).join('') + COVER,
};

/** Messages in invisible characters only: whoever reads the text sees the cover. */
export const INVISIBLE_DISGUISES: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries(WRITINGS).flatMap(([writing, write]) =>
    Object.entries(PLACES).map(([place, put]) => [`${writing}, ${place}`, put(write)] as const),
  ),
);

/** Presence and absence as bits, and what no decoder knows: at least its characters are named. */
export const PRESENT_SIGNS: Readonly<Record<string, string>> = Object.fromEntries(
  ['\u00ad', '\u034f', '\u200b', '\ufe0f', '\x01', '\u2060'].map((sign) => {
    const bits = bitsOf(MARKER);
    const chars = [...COVER.repeat(5)].slice(0, bits.length);
    return [
      `U+${sign.charCodeAt(0).toString(16).padStart(4, '0').toUpperCase()} behind a character or not`,
      chars.map((char, index) => (bits[index] === 1 ? char + sign : char)).join(''),
    ] as const;
  }),
);
