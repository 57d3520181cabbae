/** A positional code: `values` by character code, each worth `bits` bits. */
export type Base = { readonly values: Uint8Array; readonly bits: number };

/** Creates a base from its digits in ascending order. */
export const createBase = (alphabet: string): Base => {
  const values = new Uint8Array(128);
  for (let worth = 0; worth < alphabet.length; worth++) values[alphabet.charCodeAt(worth)] = worth;
  return { values, bits: Math.log2(alphabet.length) };
};

const toBytes = (digits: string, { values, bits }: Base): Uint8Array<ArrayBuffer> => {
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

/** The share of letters and spaces in a text. Format characters count as letters: they may hide a second message. */
export const letterShare = (text: string): number => shareWithout(text, /[^\p{L}\p{M}\p{Cf}\s]+/gu);

// Three different characters at least, or card numbers such as 5555... would spell a row of U.
const isVaried = (text: string): boolean => {
  const seen = new Set<string>();
  for (const char of text) {
    if (seen.add(char).size >= 3) return true;
  }
  return false;
};

const isText = (text: string): boolean =>
  isVaried(text) &&
  shareWithout(text, /[\p{Cc}\p{Co}\p{Cn}]+/gu) >= 0.9 &&
  // Short random runs have a higher share of letters.
  letterShare(text) >= (text.length < 20 ? 0.7 : 0.6);

/** The length in bytes of the UTF-8 character at `index`, 0 when there is none. */
const charBytesAt = (bytes: Uint8Array, index: number): number => {
  const first = bytes[index] ?? 0xff;
  if (first < 0x80) return 1;
  const size = first < 0xc2 || first > 0xf4 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  for (let next = 1; next < size; next++) {
    if (((bytes[index + next] ?? 0) & 0xc0) !== 0x80) return 0;
  }
  return size;
};

/** Where the valid UTF-8 that starts at `from` ends. */
const findTextEnd = (bytes: Uint8Array, from: number): number => {
  let end = from;
  for (let size = charBytesAt(bytes, end); size > 0; size = charBytesAt(bytes, end)) end += size;
  return end;
};

const decoder = new TextDecoder();

/** The text in the bytes, if they are one: valid UTF-8, or UTF-16 of Latin letters, and mostly letters. */
export const decodeBytes = (bytes: Uint8Array<ArrayBuffer>): string | undefined => {
  // Most runs are no text, and a decoder that throws on invalid bytes would cost more than everything else.
  const solid = bytes.includes(0) ? bytes.filter((byte) => byte !== 0) : bytes;
  const whole = solid.length < bytes.length * 0.7 ? solid : bytes;
  if (findTextEnd(whole, 0) < whole.length) return undefined;
  const text = decoder.decode(whole);
  return isText(text) ? text : undefined;
};

// Random bytes almost never hold so many letters in a row; a long run of random bytes might hold 12.
const STRETCH_BYTES = 12;
const LONG_STRETCH_BYTES = 18;
const findStretches = (bytes: Uint8Array<ArrayBuffer>): string => {
  const stretches: string[] = [];
  const least = bytes.length < 1000 ? STRETCH_BYTES : LONG_STRETCH_BYTES;
  for (let index = 0; index < bytes.length; index++) {
    const from = index;
    index = findTextEnd(bytes, from);
    if (index - from < least) continue;
    for (const stretch of decoder.decode(bytes.subarray(from, index)).split(/[^\P{Cc}\n]+/u)) {
      if (stretch.length >= least && isVaried(stretch) && letterShare(stretch) >= 0.85) stretches.push(stretch);
    }
  }
  return stretches.join(' ');
};

/** The stretches of text among other bytes; undefined if there are none. */
export const decodeStretches = (bytes: Uint8Array<ArrayBuffer>): string | undefined =>
  findStretches(bytes) || undefined;

/** The text in a run of digits: all of it or, if other characters are attached to it, a part. Undefined if there is none. */
export const decodeDigits = (digits: string, base: Base): string | undefined => {
  const whole = decodeBytes(toBytes(digits, base));
  if (whole !== undefined || digits.length * base.bits < STRETCH_BYTES * 8) return whole;
  for (let phase = 0; phase === 0 || (phase * base.bits) % 8 > 0; phase++) {
    const stretches = findStretches(toBytes(phase === 0 ? digits : digits.slice(phase), base));
    if (stretches !== '') return stretches;
  }
  return undefined;
};

/** The same for digits among which others may stand: what they shift is read in every position. */
export const decodeShifted = (digits: string, base: Base): string | undefined => {
  const whole = decodeBytes(toBytes(digits, base));
  if (whole !== undefined || digits.length * base.bits < STRETCH_BYTES * 8) return whole;
  const stretches: string[] = [];
  for (let phase = 0; phase === 0 || (phase * base.bits) % 8 > 0; phase++) {
    stretches.push(findStretches(toBytes(digits.slice(phase), base)));
  }
  const found = stretches.filter((stretch) => stretch !== '');
  return found.length === 0 ? undefined : found.join(' ');
};

/** The text in the bytes, without those that are no UTF-8. */
export const decodeMostBytes = (bytes: Uint8Array<ArrayBuffer>): string | undefined => {
  const whole = decodeBytes(bytes);
  if (whole !== undefined) return whole;
  const text = decoder.decode(bytes).replace(/\ufffd+/g, '');
  return text !== '' && isText(text) ? text : undefined;
};

/** Counts the characters that are escaped only on purpose: letters, but no accented Latin ones, and invisible ones. */
export const countHiddenLetters = (chars: string): number =>
  chars.replace(/[\0-@[-`{-\u024f]|[^\p{L}\p{M}\p{Cf}]/gu, '').length;
