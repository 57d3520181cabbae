/** A positional code whose digits are worth a fixed number of bits. */
export type Base = { readonly values: Uint8Array; readonly bits: number };

/** A base from its digits in order of their worth. */
export const baseOf = (alphabet: string): Base => {
  const values = new Uint8Array(128);
  for (let worth = 0; worth < alphabet.length; worth++) values[alphabet.charCodeAt(worth)] = worth;
  return { values, bits: Math.log2(alphabet.length) };
};

const strict = new TextDecoder('utf-8', { fatal: true });
const lenient = new TextDecoder();

const bytesOf = (digits: string, { values, bits }: Base): Uint8Array<ArrayBuffer> => {
  const bytes = new Uint8Array((digits.length * bits) >> 3);
  let held = 0;
  let heldBits = 0;
  let size = 0;
  for (let index = 0; index < digits.length; index++) {
    held = ((held << bits) | (values[digits.charCodeAt(index)] ?? 0)) & 0xffff;
    heldBits += bits;
    if (heldBits < 8) continue;
    heldBits -= 8;
    bytes[size] = held >> heldBits;
    size += 1;
  }
  return bytes;
};

const shareWithout = (text: string, pattern: RegExp): number => text.replace(pattern, '').length / text.length;

/** The share of letters and spaces in a text. Format characters count: a payload may hide a second one in them. */
export const letterShare = (text: string): number => shareWithout(text, /[^\p{L}\p{M}\p{Cf}\s]+/gu);

// Three different characters at least, or card numbers such as 5555... would spell a row of U.
const isVaried = (text: string): boolean => new Set(text.slice(0, 200)).size >= 3;

const isText = (text: string): boolean =>
  isVaried(text) && shareWithout(text, /[\p{Cc}\p{Co}\p{Cn}]+/gu) >= 0.9 && letterShare(text) >= 0.6;

/** The text that bytes spell, when they spell one: valid UTF-8, or UTF-16 of Latin letters, and mostly letters. */
export const textFrom = (bytes: Uint8Array<ArrayBuffer>): string | undefined => {
  const solid = bytes.filter((byte) => byte !== 0);
  try {
    const text = strict.decode(solid.length < bytes.length * 0.7 ? solid : bytes);
    return isText(text) ? text : undefined;
  } catch {
    return undefined;
  }
};

// Random bytes almost never hold so long a stretch of letters.
const STRETCH_CHARS = 12;
const stretchesIn = (bytes: Uint8Array<ArrayBuffer>): string =>
  lenient
    .decode(bytes)
    .split(/[^\P{Cc}\t\n\r]+|\ufffd+/u)
    .filter((piece) => piece.length >= STRETCH_CHARS && isVaried(piece) && letterShare(piece) >= 0.85)
    .join(' ');

/** The text that a run of digits spells, whole or, if other characters are glued to it, in part. */
export const textIn = (digits: string, base: Base): string | undefined => {
  const whole = textFrom(bytesOf(digits, base));
  if (whole !== undefined) return whole;
  for (let phase = 0; phase < 8 && phase * base.bits < 24; phase++) {
    const stretches = stretchesIn(bytesOf(digits.slice(phase), base));
    if (stretches !== '') return stretches;
  }
  return undefined;
};

/** How many of the characters hide something when escaped: letters, but no accented Latin ones, and the invisible. */
export const tellingChars = (chars: string): number =>
  chars.replace(/[\0-@[-`{-\u024f]|[^\p{L}\p{M}\p{Cf}]/gu, '').length;
