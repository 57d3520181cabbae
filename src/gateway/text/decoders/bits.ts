import { type Base, createBase, decodeBytes, decodeMostBytes, decodeShifted, decodeStretches } from './bytes.ts';

const BITS = createBase('01');
const PAIRS = createBase('0123');
const OCTALS = createBase('01234567');
const NIBBLES = createBase('0123456789abcdef');

const firstOf = <T, Result>(items: readonly T[], find: (item: T) => Result | undefined): Result | undefined => {
  for (const item of items) {
    const result = find(item);
    if (result !== undefined) return result;
  }
  return undefined;
};

/** The message in half bytes that the signs number from a multiple of 16 on. */
export const decodeNibbles = (signs: readonly number[]): string | undefined =>
  decodeShifted(signs.map((sign) => (sign & 15).toString(16)).join(''), NIBBLES);

type Width = 7 | 8;

/** As many characters of a text in a row are no chance. */
const minRun = (bits: string): number => (bits.length < 1000 * 8 ? 12 : 18);

const isPrinted = (byte: number): boolean => (byte >= 0x20 && byte < 0x7f) || byte === 10;
// More than half of all values of seven bits are printed.
const isLetterOrBlank = (byte: number): boolean =>
  (byte >= 0x61 && byte <= 0x7a) || (byte >= 0x41 && byte <= 0x5a) || byte === 0x20;

/** The bytes that follow the first byte of a UTF-8 character, 0 if it is none. */
const followersOf = (byte: number): number => (byte < 0xc2 || byte > 0xf4 ? 0 : byte < 0xe0 ? 1 : byte < 0xf0 ? 2 : 3);

/**
 * True if the bits hold a row of text at any position, or are too few to tell: one look at them instead of a decoding for
 * every position.
 */
const mayHoldText = (bits: string, width: Width, isInverted = false): boolean => {
  const needed = minRun(bits);
  if (bits.length < needed * width * 2) return true;
  const mask = 2 ** width - 1;
  const flip = isInverted ? 1 : 0;
  const isText = width === 8 ? isPrinted : isLetterOrBlank;
  const runs = new Uint8Array(width);
  const awaited = new Uint8Array(width);
  let value = 0;
  for (let index = 0; index < bits.length; index++) {
    value = ((value << 1) | ((bits.charCodeAt(index) & 1) ^ flip)) & mask;
    const position = index % width;
    const left = awaited[position] ?? 0;
    const followers = left === 0 ? followersOf(value) : 0;
    const isGood = left === 0 ? followers > 0 || isText(value) : (value & 0xc0) === 0x80;
    awaited[position] = isGood ? Math.max(followers, left - 1, 0) : 0;
    const run = isGood ? (runs[position] ?? 0) + 1 : 0;
    if (run >= needed) return true;
    runs[position] = run;
  }
  return false;
};

const invert = (bits: string): string => bits.replaceAll('1', '2').replaceAll('0', '1').replaceAll('2', '0');

const decodeSevenBits = (bits: string): string | undefined =>
  firstOf([0, 1, 2, 3, 4, 5, 6], (from) => {
    const bytes = new Uint8Array(Math.max(0, Math.floor((bits.length - from) / 7)));
    for (let index = 0; index < bytes.length * 7; index++) {
      const byte = Math.floor(index / 7);
      bytes[byte] = ((bytes[byte] ?? 0) << 1) | (bits.charCodeAt(from + index) & 1);
    }
    return from === 0 ? (decodeBytes(bytes) ?? decodeStretches(bytes)) : decodeStretches(bytes);
  });

const decodeReading = (bits: string, isInverted: boolean): string | undefined => {
  const [inEight, inSeven] = [mayHoldText(bits, 8, isInverted), mayHoldText(bits, 7, isInverted)];
  if (!inEight && !inSeven) return undefined;
  const reading = isInverted ? invert(bits) : bits;
  return (inEight ? decodeShifted(reading, BITS) : undefined) ?? (inSeven ? decodeSevenBits(reading) : undefined);
};

/** Eight bits for each character, or seven; either sign may be the one. */
const decodeBits = (bits: string): string | undefined => decodeReading(bits, false) ?? decodeReading(bits, true);

const MIN_GROUP_BITS = 4;
const MAX_GROUP_BITS = 21;

/** Characters of any width, with blanks between them. */
const decodeGroups = (digits: string): string | undefined =>
  decodeMostBytes(Uint8Array.from(digits.trim().split(/ +/), (group) => Number.parseInt(group.slice(-8), 2)));

/** Replaces each sign with the digit of its kind; signs of other kinds become `other`. */
const toDigits = (
  signs: readonly number[],
  kinds: readonly number[],
  other: string,
  write = (digit: number): string => digit.toString(16),
): string => {
  const digitOf = new Map(kinds.map((kind, digit) => [kind, write(digit)]));
  let digits = '';
  for (const sign of signs) digits += digitOf.get(sign) ?? other;
  return digits;
};

/** A kind of sign, and how many there are of it. */
type Kind = { readonly sign: number; readonly count: number };

const pairsOf = (kinds: readonly Kind[]): readonly Pair[] =>
  kinds.flatMap((left, index) => kinds.slice(index + 1).map((right) => [left, right] as const));

/** As many kinds may be mixed in as noise. */
const MAX_BIT_KINDS = 4;
const MIN_SIGNS = 16;

/** The kinds of some signs, the commonest first. */
const countKinds = (signs: readonly number[]): readonly Kind[] => {
  const counts = new Map<number, number>();
  for (const sign of signs) counts.set(sign, (counts.get(sign) ?? 0) + 1);
  return [...counts].sort((left, right) => right[1] - left[1]).map(([sign, count]) => ({ sign, count }));
};

const decodeSeparated = (signs: readonly number[], kinds: readonly Kind[]): string | undefined =>
  firstOf(pairsOf(kinds.slice(0, 3)), ([zero, one]) => {
    const bits = zero.count + one.count;
    const width = bits / Math.max(1, signs.length - bits);
    if (width < MIN_GROUP_BITS || width > MAX_GROUP_BITS) return undefined;
    return (
      decodeGroups(toDigits(signs, [zero.sign, one.sign], ' ')) ??
      decodeGroups(toDigits(signs, [one.sign, zero.sign], ' '))
    );
  });

const decodeInBase = (signs: readonly number[], kinds: readonly Kind[], base: Base): string | undefined => {
  const used = kinds
    .slice(0, 2 ** base.bits)
    .map(({ sign }) => sign)
    .sort((left, right) => left - right);
  return firstOf([used, used.toReversed()], (ordered) => {
    const bits = toDigits(signs, ordered, '', (digit) => digit.toString(2).padStart(base.bits, '0'));
    return mayHoldText(bits, 8) ? decodeShifted(toDigits(signs, ordered, ''), base) : undefined;
  });
};

const decodePositional = (signs: readonly number[], kinds: readonly Kind[]): string | undefined => {
  const inPairs = kinds.length >= 4 ? decodeInBase(signs, kinds, PAIRS) : undefined;
  if (inPairs !== undefined) return inPairs;
  if (kinds.length > 8) return decodeNibbles(signs);
  return kinds.length > 4 ? decodeInBase(signs, kinds, OCTALS) : undefined;
};

type Pair = readonly [Kind, Kind];

const decodePair = (signs: readonly number[], [zero, one]: Pair): string | undefined =>
  decodeBits(toDigits(signs, [zero.sign, one.sign], ''));

/** The share of signs of the two commonest kinds from which on the others are noise. */
const PAIR_SHARE = 0.75;

const decodeCommonest = (signs: readonly number[], [zero, one]: readonly Kind[]): string | undefined =>
  zero === undefined || one === undefined || zero.count + one.count < signs.length * PAIR_SHARE
    ? undefined
    : decodePair(signs, [zero, one]);

/** The message in bits of the two commonest kinds of sign, if all others are noise beside them. */
export const decodeCommonestPair = (signs: readonly number[]): string | undefined =>
  signs.length < MIN_SIGNS ? undefined : decodeCommonest(signs, countKinds(signs));

/**
 * The message in a row of signs, whose kinds stand for bits, with or without separators and noise, or for digits of base 4,
 * 8 or 16. Undefined if there is none.
 */
export const decodeKinds = (signs: readonly number[]): string | undefined => {
  if (signs.length < MIN_SIGNS) return undefined;
  const kinds = countKinds(signs);
  if (kinds.length < 2) return undefined;
  return (
    (kinds.length >= 3 ? decodeSeparated(signs, kinds) : undefined) ??
    decodeCommonest(signs, kinds) ??
    decodePositional(signs, kinds) ??
    firstOf(pairsOf(kinds.slice(0, MAX_BIT_KINDS)), (pair) => decodePair(signs, pair))
  );
};

/** The message in bits that are written as the presence or absence of something. */
export const decodePresence = (present: readonly boolean[]): string | undefined =>
  present.length < MIN_SIGNS ? undefined : decodeBits(present.map(Number).join(''));
