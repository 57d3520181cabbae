import { baseOf, letterShare, textIn } from '../decoders/payload.ts';
import { fluency } from './english.ts';

const BASE = baseOf('0123456789abcdef');
// Bytes of letters and spaces begin with 2 to 7.
const HINT = /[2-7][\dA-Fa-f][ ,:;\n-]{0,2}(?:0x)?[2-7][\dA-Fa-f]/;
const RUN = /(?:0x)?[\da-f]{2}(?:[ ,:;\n-]{0,2}(?:0x)?[\da-f]{2}){7,}/gi;

const decoded = (run: string): string => {
  const digits = run.toLowerCase().replace(/0x|[^\da-f]+/g, '');
  const text = textIn(digits, BASE);
  if (text === undefined) return run;
  // Card numbers, telephone numbers and ids can spell letters too, but no words.
  const isNumber = !/[a-f]/.test(digits);
  return isNumber && (letterShare(text) < 0.85 || fluency(text) < 5.7) ? run : text;
};

/** Bytes in hexadecimal: in one run, in pairs, or with 0x before each. */
export const hex = (text: string): string => (HINT.test(text) ? text.replace(RUN, decoded) : text);
