/** How much of a tool's output a model is shown. The whole is kept. */
export type OutputLimits = { readonly maxLines: number; readonly maxBytes: number };

export type BoundedOutput = { readonly shown: string; readonly isCut: boolean };

const encoder = new TextEncoder();

/** The beginning of a text within so many bytes, without half a character at its end. */
const withinBytes = (text: string, limit: number): string => {
  if (text.length * 3 <= limit) return text;
  const room = new Uint8Array(limit);
  const { read } = encoder.encodeInto(text, room);
  return text.slice(0, read);
};

/** The beginning of an output, and a last line that says how much is left out. */
export const boundedOutput = (text: string, { maxLines, maxBytes }: OutputLimits): BoundedOutput => {
  const lines = text.split('\n', maxLines + 1);
  const kept = withinBytes(lines.slice(0, maxLines).join('\n'), maxBytes);
  if (kept.length === text.length) return { shown: text, isCut: false };
  const left = text.length - kept.length;
  return { shown: `${kept}\n[${left} more characters were left out; the server keeps the whole output]`, isCut: true };
};
