import type { OutputLimits } from '../config/types.ts';

type LimitedOutput = { readonly shown: string; readonly isCut: boolean };

const encoder = new TextEncoder();

/** The beginning of a text in at most so many bytes, without half a character at its end. */
const cutToBytes = (text: string, limit: number): string => {
  if (text.length * 3 <= limit) return text;
  const buffer = new Uint8Array(limit);
  const { read } = encoder.encodeInto(text, buffer);
  return text.slice(0, read);
};

/** The beginning of an output, and a last line that says how much was left out. */
export const limitOutput = (text: string, { maxLines, maxBytes }: OutputLimits): LimitedOutput => {
  const lines = text.split('\n', maxLines + 1);
  const shown = cutToBytes(lines.slice(0, maxLines).join('\n'), maxBytes);
  if (shown.length === text.length) return { shown: text, isCut: false };
  const omitted = text.length - shown.length;
  return {
    shown: `${shown}\n[${omitted} more characters were left out; the server keeps the whole output]`,
    isCut: true,
  };
};
