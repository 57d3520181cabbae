import { countHiddenLetters } from './bytes.ts';

const ENTITY = /&(?:amp;)*#(?:x([\da-f]{1,6})|(\d{1,7}));?/gi;
const BACKSLASH = /(?:\\|%(?=u))(?:x([\da-f]{2})|u\{([\da-f]{1,6})\}|u([\da-f]{4})|([0-3]?[0-7]{2}))/gi;
const MIN_ESCAPED_LETTERS = 4;

/** Signs of HTML that show nothing, between two letters: where a word may break, or may not. */
const BREAK_IN_WORD =
  /(?<=[\p{L}\p{M}])(?:<wbr\s{0,9}\/?>|&(?:amp;)*(?:shy|zwn?j|[lr]rm|zerowidthspace|nobreak);)+(?=\p{L})/giu;

// An escape of one letter of English, which nobody needs.
const HEX_LETTER = '(?:4[1-9A-Fa-f]|5[0-9Aa]|6[1-9A-Fa-f]|7[0-9Aa])';
const DECIMAL_LETTER = '(?:6[5-9]|[78]\\d|90|9[7-9]|1[01]\\d|12[0-2])';
const PERCENT_LETTER = `%${HEX_LETTER}`;
const OTHER_LETTER = [
  `\\\\x${HEX_LETTER}`,
  `\\\\u(?:00${HEX_LETTER}|\\{0{0,4}${HEX_LETTER}\\})`,
  `&(?:amp;)*#(?:[xX]0{0,4}${HEX_LETTER}|0{0,4}${DECIMAL_LETTER});?`,
].join('|');

const letterOf = (escaped: string): string => {
  const [, decimal] = /#0*(\d+)/.exec(escaped) ?? [];
  return String.fromCharCode(
    decimal === undefined ? Number.parseInt(escaped.replace(/[;}]$/, '').slice(-2), 16) : Number(decimal),
  );
};

/** Decodes a few such letters in a row that have letters next to them. Longer runs are found by how many letters they hide. */
const inWords = (escapedLetter: string): ((text: string) => string) => {
  const few = `(?:${escapedLetter}){1,6}`;
  // Before a word a format such as %4d looks like a letter.
  const inWord = new RegExp(
    `(?<=[A-Za-z])${few}(?![\\d_%\\\\&])|(?<![\\w%\\\\;}])(?!%\\d[cdef])${few}(?=[A-Za-z]{2})`,
    'g',
  );
  const each = new RegExp(escapedLetter, 'g');
  return (text) => text.replace(inWord, (run) => run.replace(each, letterOf));
};
const decodePercentInWords = inWords(PERCENT_LETTER);
const decodeEscapesInWords = inWords(OTHER_LETTER);

const charOf = (code: number, whole: string): string => (code <= 0x10ffff ? String.fromCodePoint(code) : whole);

/**
 * Decodes numeric entities and backslash escapes that hide letters, and single ones within a word; of named entities those that show nothing
 * within a word, while others such as &amp; hide nothing.
 */
export const decodeEscapes = (whole: string): string => {
  if (!/[&\\%<]/.test(whole)) return whole;
  const text = whole.replace(BREAK_IN_WORD, '');
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
  return hiddenLetters >= MIN_ESCAPED_LETTERS ? view : decodeEscapesInWords(text);
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

/** Decodes percent escapes and quoted-printable that hide letters, and single ones within a word; %20 in an address hides nothing. */
export const decodePercent = (text: string): string => {
  if (!text.includes('%') && !text.includes('=')) return text;
  let hiddenLetters = 0;
  const view = text.replace(ESCAPED_PERCENT, '%').replace(PERCENT_RUN, (run) => {
    const chars = decodePercentRun(run);
    if (chars !== run) hiddenLetters += countHiddenLetters(chars);
    return chars;
  });
  return hiddenLetters >= MIN_PERCENT_LETTERS ? view : decodePercentInWords(text);
};
