import { UNSEEN_CHARACTERS } from '../core/unseen.ts';

const LINE_BREAK = /\r\n?|\u2028|\u2029/g;

/** A text with nothing invisible in it but line breaks and tabs, and no longer than `limitChars`, an ellipsis included. */
export const visibleText = (text: string, limitChars: number): string => {
  // Cut first: what is thrown away need not be looked at. The rest is bounded by code points.
  const looked = text.slice(0, limitChars * 4);
  const seen = looked
    .replace(LINE_BREAK, '\n')
    .replace(UNSEEN_CHARACTERS, (hidden) => (hidden === '\n' || hidden === '\t' ? hidden : ''))
    .trim();
  const points = [...seen];
  const isWhole = points.length <= limitChars && looked.length === text.length;
  return isWhole ? seen : `${points.slice(0, limitChars - 1).join('')}…`;
};
