import { baseOf, letterShare, textIn } from '../decoders/payload.ts';
import { fluency } from './english.ts';

const BINARY = baseOf('01');
const HINT = /[01]{7}|\d\d[ ,;\n]{1,2}\d\d/;
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
  HINT.test(text) ? text.replace(BITS, fromBits).replace(DECIMALS, fromDecimals) : text;
