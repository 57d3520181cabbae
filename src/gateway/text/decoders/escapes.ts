import { tellingChars } from './payload.ts';

const decoder = new TextDecoder();
const ESCAPED_PERCENT = /%(?:25)+(?=[\da-f]{2})/gi;
// Quoted-printable looks like a query string unless several stand together.
const RUN = /(?:%[\da-f]{2})+|(?:=\n?[\da-f]{2}){3,}/gi;
const LEAST_TELLING = 3;
// Escapes in an older encoding spell a few letters in a row by chance.
const LEAST_TELLING_AMID_OTHERS = 5;
const OTHERS = /\ufffd+/g;

const decoded = (run: string): string => {
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
  const view = text.replace(ESCAPED_PERCENT, '%').replace(RUN, (run) => {
    const chars = decoded(run);
    if (chars !== run) telling += tellingChars(chars);
    return chars;
  });
  return telling >= LEAST_TELLING ? view : text;
};
