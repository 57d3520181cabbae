import { createBase, decodeDigits, letterShare } from './bytes.ts';
import { fluency } from './english.ts';

const BASE32 = createBase('ABCDEFGHIJKLMNOPQRSTUVWXYZ234567');
// A run begins where no digit precedes it: trying every letter of every word would cost more than all other decoders.
const BASE32_RUN = /(?<![A-Z2-7])[A-Z2-7]{16,}(?:\n[A-Z2-7]+)*={0,6}/gi;

// Long words alone are no hint, and searching for them everywhere is slow.
const BASE32_CAPITALS = /[A-Z2-7]{3}/;
const BASE32_DIGIT_INSIDE = /[a-z][2-7][a-z]/;

/** Decodes Base32 in either case, also wrapped into lines. */
export const decodeBase32 = (text: string): string =>
  BASE32_CAPITALS.test(text) || BASE32_DIGIT_INSIDE.test(text)
    ? text.replace(BASE32_RUN, (run) => decodeDigits(run.replace(/[\n=]+/g, '').toUpperCase(), BASE32) ?? run)
    : text;

const BASE64 = createBase('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/');
// Ordinary words have no capital or digit after a small letter.
const BASE64_HINT = /[a-z\d][A-Z\d]/g;
const BASE64_RUN = /[\w+/-]+(?:\n[\w+/-]+)*={0,2}/y;
const MIN_BASE64_CHARS = 8;
const CERTAIN_BASE64_CHARS = 16;

const decodeBase64Run = (run: string): string => {
  const digits = run
    .replace(/[\n=]+/g, '')
    .replaceAll('-', '+')
    .replaceAll('_', '/');
  if (run.length < MIN_BASE64_CHARS && !run.endsWith('=')) return run;
  const text = decodeDigits(digits, BASE64);
  if (text === undefined) return run;
  return digits.length >= CERTAIN_BASE64_CHARS || /^[A-Za-z' .,!?]+$/.test(text) ? text : run;
};

const findHint = (text: string, from: number): number => {
  BASE64_HINT.lastIndex = from;
  return BASE64_HINT.exec(text)?.index ?? -1;
};

const findRunStart = (text: string, hint: number, min: number): number => {
  let start = hint;
  while (start > min && /[\w+/\n-]/.test(text.charAt(start - 1))) start -= 1;
  while (text.charAt(start) === '\n') start += 1;
  return start;
};

/** Decodes Base64, plain or URL-safe, also wrapped into lines. Short runs count only when they spell letters alone. */
export const decodeBase64 = (text: string): string => {
  let view = '';
  let end = 0;
  for (let hint = findHint(text, 0); hint >= 0; hint = findHint(text, end)) {
    const start = findRunStart(text, hint, end);
    BASE64_RUN.lastIndex = start;
    const run = BASE64_RUN.exec(text)?.[0] ?? '';
    view += text.slice(end, start) + decodeBase64Run(run);
    end = start + run.length;
  }
  return end === 0 ? text : view + text.slice(end);
};

const BASE16 = createBase('0123456789abcdef');
// Bytes of letters and spaces begin with 2 to 7.
const HEX_HINT = /[2-7][\dA-Fa-f][ ,:;\n-]{0,2}(?:0x)?[2-7][\dA-Fa-f]/;
const HEX_RUN = /(?:0x)?[\da-f]{2}(?:[ ,:;\n-]{0,2}(?:0x)?[\da-f]{2}){7,}/gi;

const decodeHexRun = (run: string): string => {
  const digits = run.toLowerCase().replace(/0x|[^\da-f]+/g, '');
  const text = decodeDigits(digits, BASE16);
  if (text === undefined) return run;
  // Card numbers, telephone numbers and ids can spell letters too, but no words.
  const isNumber = !/[a-f]/.test(digits);
  return isNumber && (letterShare(text) < 0.85 || fluency(text) < 5.7) ? run : text;
};

/** Decodes bytes in hexadecimal: in one run, in pairs, or with 0x before each. */
export const decodeHex = (text: string): string => (HEX_HINT.test(text) ? text.replace(HEX_RUN, decodeHexRun) : text);

const BASE2 = createBase('01');
const CHAR_CODE_HINT = /[01]{7}|\d\d[ ,;\n]{1,2}\d\d/;
const BITS_RUN = /(?:0b)?[01]{8}(?:[ ,\n]{0,2}(?:0b)?[01]{8}){2,}/g;
const DECIMALS_RUN = /(?<!\d)\d{2,3}(?:[ ,;\n]{1,2}\d{2,3}){5,}(?!\d)/g;

const decoder = new TextDecoder();

const decodeBitsRun = (run: string): string => decodeDigits(run.replace(/0b|[^01]+/g, ''), BASE2) ?? run;

const decodeDecimalsRun = (run: string): string => {
  const codes = run.split(/\D+/).map(Number);
  if (codes.some((code) => code < 32 || code > 126)) return run;
  const text = decoder.decode(Uint8Array.from(codes));
  return letterShare(text) >= 0.85 && fluency(text) >= 6 ? text : run;
};

/** Decodes characters written as binary or decimal numbers. Rows of decimals are common, so they must spell words. */
export const decodeCharCodes = (text: string): string =>
  CHAR_CODE_HINT.test(text) ? text.replace(BITS_RUN, decodeBitsRun).replace(DECIMALS_RUN, decodeDecimalsRun) : text;
