/** Control, format (zero-width, direction, tag), private and unpaired characters, and the selectors that can carry hidden bytes. */
const UNSEEN =
  /[\u034f\u180b-\u180f\ufe00-\ufe0f\u{e0100}-\u{e01ef}\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Cn}\u115f\u1160\u17b4\u17b5\u2028\u2029\u2800\u3164\uffa0]/gu;
const LINE_BREAK = /\r\n?|\u2028|\u2029/g;

/** A text with nothing invisible in it but line breaks and tabs, and no longer than `limitChars`, an ellipsis included. */
export const visibleText = (text: string, limitChars: number): string => {
  // Cut first: what is thrown away need not be looked at. The rest is bounded by code points.
  const looked = text.slice(0, limitChars * 4);
  const seen = looked
    .replace(LINE_BREAK, '\n')
    .replace(UNSEEN, (hidden) => (hidden === '\n' || hidden === '\t' ? hidden : ''))
    .trim();
  const points = [...seen];
  const isWhole = points.length <= limitChars && looked.length === text.length;
  return isWhole ? seen : `${points.slice(0, limitChars - 1).join('')}…`;
};
