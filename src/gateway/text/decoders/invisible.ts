import { zeroWidth } from '../hidden/zero-width.ts';
import { baseOf, textFrom, textIn } from './payload.ts';

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
