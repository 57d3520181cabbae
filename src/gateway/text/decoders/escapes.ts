import { countHiddenLetters } from './bytes.ts';

const ENTITY = /&(?:amp;)*#(?:x([\da-f]{1,6})|(\d{1,7}));?/gi;
const BACKSLASH = /(?:\\|%(?=u))(?:x([\da-f]{2})|u\{([\da-f]{1,6})\}|u([\da-f]{4})|([0-3]?[0-7]{2}))/gi;
const MIN_ESCAPED_LETTERS = 4;

// U+00AD, U+200B to U+200F, U+2060 to U+2064 and U+FEFF by their numbers.
const UNSEEN_HEX = '0{0,4}(?:ad|200[b-f]|206[0-4]|feff)';
const UNSEEN_DECIMAL = '0{0,4}(?:173|820[3-7]|828[89]|829[0-2]|65279)';
const UNSEEN = [
  '<wbr(?:[\\s/][^<>]{0,100})?>',
  '&(?:amp;)*(?:shy|zwn?j|[lr]rm|zerowidthspace|nobreak);',
  `&(?:amp;)*#(?:x${UNSEEN_HEX}|${UNSEEN_DECIMAL});?`,
  `(?:\\\\|%(?=u))(?:xad|u(?:00ad|200[b-f]|206[0-4]|feff)|u\\{${UNSEEN_HEX}\\})`,
  '%(?:c2%ad|e2%80%8[b-f]|e2%81%a[0-4]|ef%bb%bf)',
].join('|');

const UNSEEN_RUN = new RegExp(`(?<=[\\p{L}\\p{M}])(?:${UNSEEN})+`, 'giu');
const LETTER = /^\p{L}/u;

/** Removes what shows nothing between two letters. Some of it ends in a letter, so that to look for the next one in the pattern takes quadratic time. */
const withoutBreaks = (text: string): string =>
  text.replace(UNSEEN_RUN, (run, at: number) => {
    const end = at + run.length;
    return LETTER.test(text.slice(end, end + 2)) ? '' : run;
  });

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
  const text = withoutBreaks(whole);
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
