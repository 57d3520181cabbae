import { INVISIBLE_RUN } from './invisible.ts';

/** Part of every cache key: raise it whenever the result of `normalise` or of any decoder changes. */
export const NORMALISER_VERSION = '5';

const PLAIN = /^[\n\t\x20-\x7e]*$/;
const LINE_BREAK = /\r\n|[\r\v\f\x85\u2028\u2029]/g;
// Sorting a long stack of marks into canonical order takes quadratic time; a joiner splits the stack. The two half-width
// sound marks are letters that fold into marks.
const TALL_STACK = /[\p{M}\uff9e\uff9f]{30}/gu;

// Two Arabic ligatures unfold to whole sentences, 18 characters each: a text of them would cost 18 times as much.
const FOLDABLE = /[^\ufdfa\ufdfb]+/g;

/** True when the text is printable ASCII, tabs and line feeds: nothing in it can be invisible or a look-alike. */
export const isPlain = (text: string): boolean => PLAIN.test(text);

/** The text as a reader sees it: compatibility forms folded (NFKC), line breaks as \n, no invisible or control characters. */
export const normalise = (text: string): string => {
  if (isPlain(text)) return text;
  return text
    .toWellFormed()
    .replace(LINE_BREAK, '\n')
    .replace(INVISIBLE_RUN, '')
    .replace(TALL_STACK, '$&\u034f')
    .replace(FOLDABLE, (part) => part.normalize('NFKC'))
    .replace(INVISIBLE_RUN, '')
    .replaceAll('\u2800', ' ');
};

// No character folds to a blank alone, unless it is one.
const VISIBLE = /[^\s\p{DI}\p{NChar}\p{Cc}\ufff9-\ufffb\u2800]/u;

/** True when the text has white space and invisible characters only. */
export const isBlank = (text: string): boolean => !VISIBLE.test(text);

// One character that opens or closes a control token in some tokenizer, recognised by what follows it:
// <|x|> <x> </x> <!x <<SYS>> <0x0A> <2x>, |>, [INST] [/INST] [gMASK] [@BOS@] [|user|], and ]~x] [x~[. Also [img-7], where
// Ollama puts the image of that number: a text that names one which is not there was an error, and no verdict.
const TOKEN_EDGE =
  /<(?=[|/!<_｜\p{L}]|\d{1,3}[A-Za-z])|[|｜](?=>)|\[(?=\||\/?g?[A-Z@][\w@]*\]|img(?:-\d+)?\])|\](?=~)|~(?=\[)/gu;

/**
 * Breaks control tokens of tokenizers with a space, so that user text stays text. Run it last: any later change to the
 * text could join a token again.
 */
export const neutralise = (text: string): string => text.replace(TOKEN_EDGE, '$& ');

const OVERLAP_LIMIT_CHARS = 1000;
// A surrogate pair must fit whole.
const MIN_WINDOW_CHARS = 2;

const splitsPair = (text: string, index: number): boolean =>
  /^[\ud800-\udbff][\udc00-\udfff]$/.test(text.slice(index - 1, index + 1));

/**
 * Splits a text into overlapping windows of at most `windowChars` that together hold all of it, so that no passage is
 * lost at a cut. The last one starts early enough to be full: a short one would be judged without context.
 */
export const splitWindows = (text: string, windowChars: number): readonly string[] => {
  const size = Math.max(MIN_WINDOW_CHARS, Math.floor(windowChars));
  const overlap = Math.min(OVERLAP_LIMIT_CHARS, Math.floor(size / 10));
  const windows: string[] = [];
  let start = 0;
  while (start + size < text.length) {
    const end = splitsPair(text, start + size) ? start + size - 1 : start + size;
    windows.push(text.slice(start, end));
    const next = Math.min(end - overlap, text.length - size);
    start = splitsPair(text, next) ? next + 1 : next;
  }
  return [...windows, text.slice(start)];
};
