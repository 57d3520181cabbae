import { withoutSecrets } from './redact.ts';
import type { Steps } from './time-slices.ts';

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

const PIECE_CHARS = 65_536;
const isHighSurrogate = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdbff;
const isLowSurrogate = (unit: number): boolean => unit >= 0xdc00 && unit <= 0xdfff;
/** Whether a position is in the middle of a pair: a half that stands alone has none. */
const isInPair = (text: string, at: number): boolean =>
  isLowSurrogate(text.charCodeAt(at)) && isHighSurrogate(text.charCodeAt(at - 1));

/** Cuts a text into pieces that can be worked on one by one: joined they are the text again. Surrogate pairs stay whole. */
export function* cutText(text: string, pieceChars: number = PIECE_CHARS): Generator<string, void> {
  let from = 0;
  while (text.length - from > pieceChars) {
    const limit = from + pieceChars;
    const cut = isLowSurrogate(text.charCodeAt(limit)) ? limit + 1 : limit;
    yield text.slice(from, cut);
    from = cut;
  }
  if (from < text.length || text === '') yield text.slice(from);
}

/** Characters that never combine with what stands before them: no marks, and no letters that are composed in another way. */
const BEGINS_ANEW = /[^\p{M}\u1161-\u1175\u11a8-\u11c2\u{16d67}]/u;
const NORMALIZED_CHARS = 16_384;
const SEARCHED_CHARS = 1024;

/** Where the text can be cut at `limit` or soon after it, so that its parts are normalised as the whole is. */
const findNormalizationCut = (text: string, limit: number): number => {
  if (limit >= text.length) return text.length;
  const from = isInPair(text, limit) ? limit - 1 : limit;
  const found = text.slice(from, from + SEARCHED_CHARS).search(BEGINS_ANEW);
  if (found !== -1) return from + found;
  return text.length - from <= SEARCHED_CHARS ? text.length : from;
};

const CHANGED_BY_NFC = /[^\0-\u02ff]/;
/** Sorting a long stack of marks into canonical order takes quadratic time. No language has one, so it is sorted in parts. */
const TALL_STACK = /\p{M}{256}/u;
const STACK_PARTS = /\P{M}?\p{M}{1,256}/gu;

const composed = (text: string): string => {
  if (!CHANGED_BY_NFC.test(text)) return text;
  return TALL_STACK.test(text) ? text.replace(STACK_PARTS, (part) => part.normalize('NFC')) : text.normalize('NFC');
};

/**
 * The text in the form NFC, with one blank for all adjacent white space. Only a stack of more than 256 marks on one letter may
 * not be in that form.
 */
export function* withSingleBlanks(text: string): Steps<string> {
  const parts: string[] = [];
  let endsWithBlank = false;
  for (let from = 0; from < text.length; ) {
    const cut = findNormalizationCut(text, from + NORMALIZED_CHARS);
    // Single blanks are the most common white space, and stay.
    const part = composed(text.slice(from, cut)).replace(/\s{2,}|[^\S ]/g, ' ');
    const rest: string = endsWithBlank && part.startsWith(' ') ? part.slice(1) : part;
    parts.push(rest);
    if (rest !== '') endsWithBlank = rest.endsWith(' ');
    from = cut;
    if (from < text.length) yield;
  }
  return parts.join('');
}
