import { createBase, decodeBytes, decodeDigits } from './bytes.ts';

const SIGN = /[\u200b-\u200f\u2060-\u2064\ufeff]/g;
const BLOCK = /[\u200b-\u200f\u2060-\u2064\ufeff]{16,}/g;
const MIN_SIGNS = 24;
const BITS = createBase('01');
const PAIRS = createBase('0123');

/** Replaces each sign with the digit of its kind; kinds without a digit become blanks. */
const toDigits = (signs: string, kinds: readonly string[]): string =>
  kinds.reduce((digits, kind, digit) => digits.replaceAll(kind, String(digit)), signs).replace(SIGN, ' ');

const decodeBits = (bits: string): string | undefined => {
  // A third sign separates characters of any width; without one they are eight bits wide, or seven.
  if (bits.includes(' ')) {
    return decodeBytes(Uint8Array.from(bits.trim().split(/ +/), (group) => Number.parseInt(group.slice(-8), 2)));
  }
  return decodeDigits(bits, BITS) ?? decodeDigits(bits.replace(/[01]{7}/g, '0$&'), BITS);
};

const findRarest = (signs: string, kinds: readonly string[]): string | undefined =>
  kinds.toSorted((left, right) => signs.split(left).length - signs.split(right).length)[0];

const decodeSigns = (signs: string): string | undefined => {
  const kinds = [...new Set(signs)].sort();
  if (kinds.length === 4)
    return decodeDigits(toDigits(signs, kinds), PAIRS) ?? decodeDigits(toDigits(signs, kinds.toReversed()), PAIRS);
  if (kinds.length < 2 || kinds.length > 4) return undefined;
  // A separator is rarer than either bit.
  const bits = kinds.length === 3 ? kinds.filter((kind) => kind !== findRarest(signs, kinds)) : kinds;
  return decodeBits(toDigits(signs, bits)) ?? decodeBits(toDigits(signs, bits.toReversed()));
};

const decodeBlock = (signs: string): string => {
  const message = decodeSigns(signs);
  return message === undefined ? signs : ` ${message} `;
};

/** Decodes messages in zero-width characters as bits: in one block, or scattered over the whole text. */
const decodeZeroWidth = (text: string): string => {
  const view = text.replace(BLOCK, decodeBlock);
  if (view !== text) return view;
  const signs = text.replace(BLOCK, '').match(SIGN) ?? [];
  const message = signs.length < MIN_SIGNS ? undefined : decodeSigns(signs.join(''));
  return message === undefined ? text : `${message}\n${text.replace(SIGN, '')}`;
};

const TAG_OR_SELECTOR = /[\ufe00-\ufe0f\u{e0020}-\u{e01ef}]/u;
const TAGS = /\u{1f3f4}?[\u{e0020}-\u{e007f}]+/gu;
// England, Scotland and Wales: the only flags written with tag characters.
const FLAG = /^\u{1f3f4}gb(?:eng|sct|wls)\x7f$/u;
const SELECTOR = /[\ufe00-\ufe0f\u{e0100}-\u{e01ef}]/gu;
const MIN_SELECTORS = 3;
const NIBBLES = createBase('0123456789abcdef');

const codeOf = (char: string): number => char.codePointAt(0) ?? 0;

const decodeTags = (run: string): string => {
  const text = run.replace(/[\u{e0020}-\u{e007f}]/gu, (tag) => String.fromCharCode(codeOf(tag) & 0x7f));
  return FLAG.test(text) ? run : text;
};

const byteOf = (selector: string): number => {
  const code = codeOf(selector);
  return code < 0xfe10 ? code - 0xfe00 : code - 0xe0100 + 16;
};

/** A selector after a pictogram or an ideograph is ordinary: it encodes a small number, never a letter. */
const decodeSelectorBytes = (selectors: readonly string[]): string | undefined => {
  const bytes = selectors.map(byteOf);
  const letters = bytes.filter((byte) => byte >= 0x20);
  if (letters.length >= MIN_SELECTORS) return decodeBytes(Uint8Array.from(letters));
  return decodeDigits(bytes.map((byte) => (byte & 15).toString(16)).join(''), NIBBLES);
};

const decodeSelectors = (text: string): string => {
  const selectors = text.match(SELECTOR) ?? [];
  const message = selectors.length < MIN_SELECTORS ? undefined : decodeSelectorBytes(selectors);
  if (message === undefined) return text;
  let isFirst = true;
  return text.replace(SELECTOR, () => {
    const inserted = isFirst ? ` ${message} ` : '';
    isFirst = false;
    return inserted;
  });
};

/** Decodes messages in invisible characters: tags, variation selectors as bytes, zero-width characters as bits. */
export const decodeInvisible = (text: string): string =>
  decodeZeroWidth(TAG_OR_SELECTOR.test(text) ? decodeSelectors(text.replace(TAGS, decodeTags)) : text);
