import { withoutSecrets } from './redact.ts';

/**
 * The characters that a model reads and a person does not see: control, format (zero-width, direction, tag), private and
 * unassigned ones, unpaired halves, fillers, line separators, and the selectors that can carry hidden bytes. For `replace`;
 * as it is global, `test` would remember where it was.
 */
export const INVISIBLE_CHARACTERS =
  /[\u034f\u180b-\u180f\ufe00-\ufe0f\u{e0100}-\u{e01ef}\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Cn}\u115f\u1160\u17b4\u17b5\u2028\u2029\u2800\u3164\uffa0]/gu;

const LINE_BREAK = /\r\n?|\u2028|\u2029/g;
const DEFAULT_LIMIT_CHARS = 200;
/** Searched beyond what can be shown, so that a secret is known for one where the end of the text cuts it. */
const SEARCHED_BEYOND_CHARS = 200;

/** Cleans a text and cuts it to a number of code points, an ellipsis included. */
const cut = (text: string, limitChars: number, clean: (start: string) => string): string => {
  // Cut first: what is thrown away need not be cleaned.
  const start = text.slice(0, limitChars * 4);
  const cleaned = clean(start).trim();
  const points = [...cleaned];
  const isWhole = points.length <= limitChars && start.length === text.length;
  return isWhole ? cleaned : `${points.slice(0, limitChars - 1).join('')}…`;
};

/** A text with nothing invisible in it but line breaks and tabs, and no longer than `limitChars`, an ellipsis included. */
export const visibleLines = (text: string, limitChars: number): string =>
  cut(text, limitChars, (start) =>
    start
      .replace(LINE_BREAK, '\n')
      .replace(INVISIBLE_CHARACTERS, (hidden) => (hidden === '\n' || hidden === '\t' ? hidden : '')),
  );

/** The same on one line. Its secrets are still there. */
export const visibleLine = (text: string, limitChars: number): string =>
  cut(text, limitChars, (start) => start.replace(INVISIBLE_CHARACTERS, ' ').replace(/\s+/g, ' '));

/**
 * A text from another system as data that can be shown: a `visibleLine` without secrets. It stays what someone else wrote,
 * so it belongs into a field of a result and never into a sentence of ours.
 */
export const redactedLine = (text: string, limitChars: number = DEFAULT_LIMIT_CHARS): string =>
  visibleLine(withoutSecrets(text.slice(0, limitChars * 4 + SEARCHED_BEYOND_CHARS)), limitChars);
