import { tellingChars } from '../decoders/payload.ts';

const ENTITY = /&(?:amp;)*#(?:x([\da-f]{1,6})|(\d{1,7}));?/gi;
const BACKSLASH = /(?:\\|%(?=u))(?:x([\da-f]{2})|u\{([\da-f]{1,6})\}|u([\da-f]{4})|([0-3]?[0-7]{2}))/gi;
const LEAST_TELLING = 4;

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
  return telling >= LEAST_TELLING ? view : text;
};
