import { baseOf, textFrom, textIn } from '../decoders/payload.ts';

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
