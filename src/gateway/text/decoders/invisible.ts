import { baseOf, textFrom, textIn } from './payload.ts';

const SIGN = /[\u200b-\u200f\u2060-\u2064\ufeff]/g;
const BLOCK = /[\u200b-\u200f\u2060-\u2064\ufeff]{16,}/g;
const LEAST_SIGNS = 24;
const BITS = baseOf('01');
const PAIRS = baseOf('0123');

/** Rewrites each sign as the digit that its kind stands for; kinds without a digit become gaps. */
const digitsOf = (signs: string, kinds: readonly string[]): string =>
  kinds.reduce((digits, kind, worth) => digits.replaceAll(kind, String(worth)), signs).replace(SIGN, ' ');

const fromBits = (bits: string): string | undefined => {
  // A third sign parts characters of any width; without one they are eight bits wide, or seven.
  if (bits.includes(' ')) {
    return textFrom(Uint8Array.from(bits.trim().split(/ +/), (group) => Number.parseInt(group.slice(-8), 2)));
  }
  return textIn(bits, BITS) ?? textIn(bits.replace(/[01]{7}/g, '0$&'), BITS);
};

const rarest = (signs: string, kinds: readonly string[]): string | undefined =>
  kinds.toSorted((left, right) => signs.split(left).length - signs.split(right).length)[0];

const messageIn = (signs: string): string | undefined => {
  const kinds = [...new Set(signs)].sort();
  if (kinds.length === 4)
    return textIn(digitsOf(signs, kinds), PAIRS) ?? textIn(digitsOf(signs, kinds.toReversed()), PAIRS);
  if (kinds.length < 2 || kinds.length > 4) return undefined;
  // A separator is rarer than either bit.
  const bits = kinds.length === 3 ? kinds.filter((kind) => kind !== rarest(signs, kinds)) : kinds;
  return fromBits(digitsOf(signs, bits)) ?? fromBits(digitsOf(signs, bits.toReversed()));
};

const fromBlock = (signs: string): string => {
  const message = messageIn(signs);
  return message === undefined ? signs : ` ${message} `;
};

/** Messages in zero-width characters as bits: in one block, or strewn over the whole text. */
export const zeroWidth = (text: string): string => {
  const view = text.replace(BLOCK, fromBlock);
  if (view !== text) return view;
  const signs = text.replace(BLOCK, '').match(SIGN) ?? [];
  const message = signs.length < LEAST_SIGNS ? undefined : messageIn(signs.join(''));
  return message === undefined ? text : `${message}\n${text.replace(SIGN, '')}`;
};

const HINT = /[\ufe00-\ufe0f\u{e0020}-\u{e01ef}]/u;
const TAGS = /\u{1f3f4}?[\u{e0020}-\u{e007f}]+/gu;
// England, Scotland and Wales: the only flags written with tag characters.
const FLAG = /^\u{1f3f4}gb(?:eng|sct|wls)\x7f$/u;
const SELECTOR = /[\ufe00-\ufe0f\u{e0100}-\u{e01ef}]/gu;
const LEAST_SELECTORS = 3;
const NIBBLES = baseOf('0123456789abcdef');

const codeOf = (char: string): number => char.codePointAt(0) ?? 0;

const fromTags = (run: string): string => {
  const text = run.replace(/[\u{e0020}-\u{e007f}]/gu, (tag) => String.fromCharCode(codeOf(tag) & 0x7f));
  return FLAG.test(text) ? run : text;
};

const byteOf = (selector: string): number => {
  const code = codeOf(selector);
  return code < 0xfe10 ? code - 0xfe00 : code - 0xe0100 + 16;
};

/** A selector after a pictogram or an ideograph is ordinary: it stands for a small number, never for a letter. */
const fromSelectors = (selectors: readonly string[]): string | undefined => {
  const bytes = selectors.map(byteOf);
  const letters = bytes.filter((byte) => byte >= 0x20);
  if (letters.length >= LEAST_SELECTORS) return textFrom(Uint8Array.from(letters));
  return textIn(bytes.map((byte) => (byte & 15).toString(16)).join(''), NIBBLES);
};

const smuggled = (text: string): string => {
  const selectors = text.match(SELECTOR) ?? [];
  const message = selectors.length < LEAST_SELECTORS ? undefined : fromSelectors(selectors);
  if (message === undefined) return text;
  let isFirst = true;
  return text.replace(SELECTOR, () => {
    const inserted = isFirst ? ` ${message} ` : '';
    isFirst = false;
    return inserted;
  });
};

/** Messages in characters that no one sees: tags, variation selectors as bytes, zero-width characters as bits. */
export const invisible = (text: string): string =>
  zeroWidth(HINT.test(text) ? smuggled(text.replace(TAGS, fromTags)) : text);
