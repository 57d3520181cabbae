import { baseOf, fluency, letterShare, textIn } from './payload.ts';

const BASE32 = baseOf('ABCDEFGHIJKLMNOPQRSTUVWXYZ234567');
// Runs begin where no digit stands before: a look at every letter of every word would cost more than all other decoders.
const BASE32_RUN = /(?<![A-Z2-7])[A-Z2-7]{16,}(?:\n[A-Z2-7]+)*={0,6}/gi;

// Long words alone are no hint, and looking for them everywhere is slow.
const CAPITALS = /[A-Z2-7]{3}/;
const DIGIT_INSIDE = /[a-z][2-7][a-z]/;

/** Base32 in either case, also wrapped into lines. */
export const base32 = (text: string): string =>
  CAPITALS.test(text) || DIGIT_INSIDE.test(text)
    ? text.replace(BASE32_RUN, (run) => textIn(run.replace(/[\n=]+/g, '').toUpperCase(), BASE32) ?? run)
    : text;

const BASE64 = baseOf('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/');
// Words have no capital or digit after a small letter, so that only what has one is looked at.
const BASE64_HINT = /[a-z\d][A-Z\d]/g;
const BASE64_RUN = /[\w+/-]+(?:\n[\w+/-]+)*={0,2}/y;
const LEAST_CHARS = 8;
const SURE_CHARS = 16;

const base64Text = (run: string): string => {
  const digits = run
    .replace(/[\n=]+/g, '')
    .replaceAll('-', '+')
    .replaceAll('_', '/');
  if (run.length < LEAST_CHARS && !run.endsWith('=')) return run;
  const text = textIn(digits, BASE64);
  if (text === undefined) return run;
  return digits.length >= SURE_CHARS || /^[A-Za-z' .,!?]+$/.test(text) ? text : run;
};

const nextHint = (text: string, from: number): number => {
  BASE64_HINT.lastIndex = from;
  return BASE64_HINT.exec(text)?.index ?? -1;
};

const startOfRun = (text: string, hint: number, least: number): number => {
  let start = hint;
  while (start > least && /[\w+/\n-]/.test(text.charAt(start - 1))) start -= 1;
  while (text.charAt(start) === '\n') start += 1;
  return start;
};

/** Base64, plain or URL-safe, also wrapped into lines. Short runs count only when they spell nothing but letters. */
export const base64 = (text: string): string => {
  let view = '';
  let end = 0;
  for (let hint = nextHint(text, 0); hint >= 0; hint = nextHint(text, end)) {
    const start = startOfRun(text, hint, end);
    BASE64_RUN.lastIndex = start;
    const run = BASE64_RUN.exec(text)?.[0] ?? '';
    view += text.slice(end, start) + base64Text(run);
    end = start + run.length;
  }
  return end === 0 ? text : view + text.slice(end);
};

const HEX = baseOf('0123456789abcdef');
// Bytes of letters and spaces begin with 2 to 7.
const HEX_HINT = /[2-7][\dA-Fa-f][ ,:;\n-]{0,2}(?:0x)?[2-7][\dA-Fa-f]/;
const HEX_RUN = /(?:0x)?[\da-f]{2}(?:[ ,:;\n-]{0,2}(?:0x)?[\da-f]{2}){7,}/gi;

const hexText = (run: string): string => {
  const digits = run.toLowerCase().replace(/0x|[^\da-f]+/g, '');
  const text = textIn(digits, HEX);
  if (text === undefined) return run;
  // Card numbers, telephone numbers and ids can spell letters too, but no words.
  const isNumber = !/[a-f]/.test(digits);
  return isNumber && (letterShare(text) < 0.85 || fluency(text) < 5.7) ? run : text;
};

/** Bytes in hexadecimal: in one run, in pairs, or with 0x before each. */
export const hex = (text: string): string => (HEX_HINT.test(text) ? text.replace(HEX_RUN, hexText) : text);

const BINARY = baseOf('01');
const CHAR_CODE_HINT = /[01]{7}|\d\d[ ,;\n]{1,2}\d\d/;
const BITS = /(?:0b)?[01]{8}(?:[ ,\n]{0,2}(?:0b)?[01]{8}){2,}/g;
const DECIMALS = /(?<!\d)\d{2,3}(?:[ ,;\n]{1,2}\d{2,3}){5,}(?!\d)/g;

const decoder = new TextDecoder();

const fromBits = (run: string): string => textIn(run.replace(/0b|[^01]+/g, ''), BINARY) ?? run;

const fromDecimals = (run: string): string => {
  const codes = run.split(/\D+/).map(Number);
  if (codes.some((code) => code < 32 || code > 126)) return run;
  const text = decoder.decode(Uint8Array.from(codes));
  return letterShare(text) >= 0.85 && fluency(text) >= 6 ? text : run;
};

/** Characters as binary or decimal numbers. Rows of decimal numbers are common, so theirs must read like words. */
export const charCodes = (text: string): string =>
  CHAR_CODE_HINT.test(text) ? text.replace(BITS, fromBits).replace(DECIMALS, fromDecimals) : text;
