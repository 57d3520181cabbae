import { baseOf, textIn } from './payload.ts';

const BASE = baseOf('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/');
// Prose has no capital or digit inside a word.
const HINT = /[a-z][A-Z\d]|\d[A-Za-z]/;
const RUN = /[\w+/-]{4,}(?:\n[\w+/-]{2,})*={0,2}/g;
const LEAST_CHARS = 8;
const SURE_CHARS = 16;

const decoded = (run: string): string => {
  const digits = run
    .replace(/[\n=]+/g, '')
    .replaceAll('-', '+')
    .replaceAll('_', '/');
  if ((run.length < LEAST_CHARS && !run.endsWith('=')) || !HINT.test(digits)) return run;
  const text = textIn(digits, BASE);
  if (text === undefined) return run;
  return digits.length >= SURE_CHARS || /^[A-Za-z' .,!?]+$/.test(text) ? text : run;
};

/** Base64, plain or URL-safe, also wrapped into lines. Short runs count only when they spell nothing but letters. */
export const base64 = (text: string): string => (HINT.test(text) ? text.replace(RUN, decoded) : text);
