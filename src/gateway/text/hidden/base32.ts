import { baseOf, textIn } from '../decoders/payload.ts';

const BASE = baseOf('ABCDEFGHIJKLMNOPQRSTUVWXYZ234567');
// Runs begin where no digit stands before: a look at every letter of every word would cost more than all other decoders.
const RUN = /(?<![A-Z2-7])[A-Z2-7]{16,}(?:\n[A-Z2-7]+)*={0,6}/gi;

// Long words alone are no hint, and looking for them everywhere is slow.
const CAPITALS = /[A-Z2-7]{3}/;
const DIGIT_INSIDE = /[a-z][2-7][a-z]/;

/** Base32 in either case, also wrapped into lines. */
export const base32 = (text: string): string =>
  CAPITALS.test(text) || DIGIT_INSIDE.test(text)
    ? text.replace(RUN, (run) => textIn(run.replace(/[\n=]+/g, '').toUpperCase(), BASE) ?? run)
    : text;
