import { countHiddenLetters } from './bytes.ts';

const ENTITY = /&(?:amp;)*#(?:x([\da-f]{1,6})|(\d{1,7}));?/gi;
const BACKSLASH = /(?:\\|%(?=u))(?:x([\da-f]{2})|u\{([\da-f]{1,6})\}|u([\da-f]{4})|([0-3]?[0-7]{2}))/gi;
const MIN_ESCAPED_LETTERS = 4;

const charOf = (code: number, whole: string): string => (code <= 0x10ffff ? String.fromCodePoint(code) : whole);

/** Decodes numeric entities and backslash escapes that hide letters; named entities such as &amp; hide nothing. */
export const decodeEscapes = (text: string): string => {
  if (!text.includes('&') && !text.includes('\\') && !text.includes('%u')) return text;
  let hiddenLetters = 0;
  const count = (char: string): string => {
    hiddenLetters += countHiddenLetters(char);
    return char;
  };
  const view = text
    .replace(ENTITY, (entity, hex?: string, decimal?: string) =>
      count(charOf(hex === undefined ? Number(decimal) : Number.parseInt(hex, 16), entity)),
    )
    .replace(BACKSLASH, (whole, byte?: string, braced?: string, unit?: string, octal?: string) =>
      count(
        charOf(
          octal === undefined ? Number.parseInt(byte ?? braced ?? unit ?? '', 16) : Number.parseInt(octal, 8),
          whole,
        ),
      ),
    );
  return hiddenLetters >= MIN_ESCAPED_LETTERS ? view : text;
};

const decoder = new TextDecoder();
const ESCAPED_PERCENT = /%(?:25)+(?=[\da-f]{2})/gi;
// Quoted-printable looks like a query string unless several codes are adjacent.
const PERCENT_RUN = /(?:%[\da-f]{2})+|(?:=\n?[\da-f]{2}){3,}/gi;
const MIN_PERCENT_LETTERS = 3;
// Escapes in an older encoding spell a few letters in a row by chance.
const MIN_LETTERS_AMID_OTHER_BYTES = 5;
const OTHER_BYTES = /\ufffd+/g;

const decodePercentRun = (run: string): string => {
  const pairs = run.match(/[\da-f]{2}/gi) ?? [];
  const text = decoder.decode(Uint8Array.from(pairs, (pair) => Number.parseInt(pair, 16)));
  if (!text.includes('\ufffd')) return text;
  // Other bytes next to a message must not hide it.
  const isMessage = text.split(OTHER_BYTES).some((part) => countHiddenLetters(part) >= MIN_LETTERS_AMID_OTHER_BYTES);
  return isMessage ? text.replace(OTHER_BYTES, ' ') : run;
};

/** Decodes percent escapes and quoted-printable that hide letters; %20 in an address hides nothing. */
export const decodePercent = (text: string): string => {
  if (!text.includes('%') && !text.includes('=')) return text;
  let hiddenLetters = 0;
  const view = text.replace(ESCAPED_PERCENT, '%').replace(PERCENT_RUN, (run) => {
    const chars = decodePercentRun(run);
    if (chars !== run) hiddenLetters += countHiddenLetters(chars);
    return chars;
  });
  return hiddenLetters >= MIN_PERCENT_LETTERS ? view : text;
};
