import { baseOf, textIn } from './payload.ts';

const BASE = baseOf('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/');
// Words have no capital or digit after a small letter, so that only what has one is looked at.
const HINT = /[a-z\d][A-Z\d]/g;
const RUN = /[\w+/-]+(?:\n[\w+/-]+)*={0,2}/y;
const LEAST_CHARS = 8;
const SURE_CHARS = 16;

const decoded = (run: string): string => {
  const digits = run
    .replace(/[\n=]+/g, '')
    .replaceAll('-', '+')
    .replaceAll('_', '/');
  if (run.length < LEAST_CHARS && !run.endsWith('=')) return run;
  const text = textIn(digits, BASE);
  if (text === undefined) return run;
  return digits.length >= SURE_CHARS || /^[A-Za-z' .,!?]+$/.test(text) ? text : run;
};

const nextHint = (text: string, from: number): number => {
  HINT.lastIndex = from;
  return HINT.exec(text)?.index ?? -1;
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
    RUN.lastIndex = start;
    const run = RUN.exec(text)?.[0] ?? '';
    view += text.slice(end, start) + decoded(run);
    end = start + run.length;
  }
  return end === 0 ? text : view + text.slice(end);
};
