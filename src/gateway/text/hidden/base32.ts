import { baseOf, textIn } from './payload.ts';

const BASE = baseOf('ABCDEFGHIJKLMNOPQRSTUVWXYZ234567');
const RUN = /[A-Z2-7]{16,}(?:\n[A-Z2-7]+)*={0,6}/gi;

/** Base32 in either case, also wrapped into lines. */
export const base32 = (text: string): string =>
  text.replace(RUN, (run) => textIn(run.replace(/[\n=]+/g, '').toUpperCase(), BASE) ?? run);
