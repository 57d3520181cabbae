import { tellingChars } from './payload.ts';

const ENTITY = /&(?:amp;)*#(?:x([\da-f]{1,6})|(\d{1,7}));?/gi;
const BACKSLASH = /(?:\\|%(?=u))(?:x([\da-f]{2})|u\{([\da-f]{1,6})\}|u([\da-f]{4})|([0-3]?[0-7]{2}))/gi;
const LEAST_ESCAPES = 4;

const charOf = (code: number, whole: string): string => (code <= 0x10ffff ? String.fromCodePoint(code) : whole);

/** Numeric entities and backslash escapes, if they hide letters; named entities such as &amp; hide nothing. */
export const escapes = (text: string): string => {
  if (!text.includes('&') && !text.includes('\\') && !text.includes('%u')) return text;
  let telling = 0;
  const note = (char: string): string => {
    telling += tellingChars(char);
    return char;
  };
  const view = text
    .replace(ENTITY, (entity, hex?: string, decimal?: string) =>
      note(charOf(hex === undefined ? Number(decimal) : Number.parseInt(hex, 16), entity)),
    )
    .replace(BACKSLASH, (whole, byte?: string, braced?: string, unit?: string, octal?: string) =>
      note(
        charOf(
          octal === undefined ? Number.parseInt(byte ?? braced ?? unit ?? '', 16) : Number.parseInt(octal, 8),
          whole,
        ),
      ),
    );
  return telling >= LEAST_ESCAPES ? view : text;
};

const decoder = new TextDecoder();
const ESCAPED_PERCENT = /%(?:25)+(?=[\da-f]{2})/gi;
// Quoted-printable looks like a query string unless several stand together.
const PERCENT_RUN = /(?:%[\da-f]{2})+|(?:=\n?[\da-f]{2}){3,}/gi;
const LEAST_PERCENT_CODES = 3;
// Escapes in an older encoding spell a few letters in a row by chance.
const LEAST_TELLING_AMID_OTHERS = 5;
const OTHERS = /\ufffd+/g;

const percentText = (run: string): string => {
  const pairs = run.match(/[\da-f]{2}/gi) ?? [];
  const text = decoder.decode(Uint8Array.from(pairs, (pair) => Number.parseInt(pair, 16)));
  if (!text.includes('\ufffd')) return text;
  // Other bytes glued to a message must not hide it.
  const isMessage = text.split(OTHERS).some((part) => tellingChars(part) >= LEAST_TELLING_AMID_OTHERS);
  return isMessage ? text.replace(OTHERS, ' ') : run;
};

/** Percent escapes and quoted-printable, if they hide letters; %20 in an address hides nothing. */
export const percent = (text: string): string => {
  if (!text.includes('%') && !text.includes('=')) return text;
  let telling = 0;
  const view = text.replace(ESCAPED_PERCENT, '%').replace(PERCENT_RUN, (run) => {
    const chars = percentText(run);
    if (chars !== run) telling += tellingChars(chars);
    return chars;
  });
  return telling >= LEAST_PERCENT_CODES ? view : text;
};
