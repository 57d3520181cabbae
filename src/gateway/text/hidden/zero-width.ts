import { baseOf, textIn } from './payload.ts';

const SIGN = /[\u200b-\u200f\u2060-\u2064\ufeff]/g;
const BLOCK = /[\u200b-\u200f\u2060-\u2064\ufeff]{16,}/g;
const LEAST_SIGNS = 24;
const BITS = baseOf('01');
const PAIRS = baseOf('0123');

/** Rewrites each sign as the digit that its kind stands for; kinds without a digit become gaps. */
const digitsOf = (signs: string, kinds: readonly string[]): string =>
  signs.replace(SIGN, (sign) => {
    const worth = kinds.indexOf(sign);
    return worth < 0 ? ' ' : String(worth);
  });

const fromBits = (bits: string): string | undefined => {
  // A third sign parts characters of any width; without one they are eight bits wide, or seven.
  if (bits.includes(' '))
    return textIn(
      bits
        .trim()
        .split(/ +/)
        .map((group) => group.slice(-8).padStart(8, '0'))
        .join(''),
      BITS,
    );
  return textIn(bits, BITS) ?? textIn(bits.replace(/[01]{7}/g, '0$&'), BITS);
};

const messageIn = (signs: string): string | undefined => {
  const kinds = [...new Set(signs)].sort();
  if (kinds.length === 4)
    return textIn(digitsOf(signs, kinds), PAIRS) ?? textIn(digitsOf(signs, kinds.toReversed()), PAIRS);
  if (kinds.length > 4) return undefined;
  for (const zero of kinds) {
    for (const one of kinds) {
      const message = zero === one ? undefined : fromBits(digitsOf(signs, [zero, one]));
      if (message !== undefined) return message;
    }
  }
  return undefined;
};

const fromBlock = (signs: string): string => {
  const message = messageIn(signs);
  return message === undefined ? signs : ` ${message} `;
};

/** Messages in zero-width characters as bits: in one block, or strewn over the whole text. */
export const zeroWidth = (text: string): string => {
  const view = text.replace(BLOCK, fromBlock);
  if (view !== text) return view;
  const signs = text.match(SIGN) ?? [];
  const message = signs.length < LEAST_SIGNS ? undefined : messageIn(signs.join(''));
  return message === undefined ? text : `${message}\n${text.replace(SIGN, '')}`;
};
