import type { ToolSpec } from '../model/types.ts';
import type { Rule, ToolPart } from '../protocol/types.ts';

/** What a tool call came to. `output` is for the model; an error is one that the model should hear of. */
export type ToolOutcome = {
  readonly output: string;
  readonly title: string;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly isError: boolean;
};

/** A call that a model has asked for. `input` is undefined when its arguments are no JSON object, or one that lies too deep. */
export type RequestedCall = {
  readonly part: ToolPart;
  readonly input: Readonly<Record<string, unknown>> | undefined;
  readonly raw: string;
};

/** Where a call comes from, and how long it is wanted. */
export type CallContext = {
  readonly sessionID: string;
  readonly messageID: string;
  readonly callID: string;
  readonly agent: string;
  readonly signal: AbortSignal;
};

/** A tool that a model may call. */
export type AgentTool = ToolSpec & {
  /** The tool server that it is really of, and its name there: others may have names that look like it. */
  readonly origin?: { readonly server: string; readonly tool: string };
  /** What a permission rule's pattern is held against; `*` when the arguments do not matter. */
  readonly patternsFor: (input: Readonly<Record<string, unknown>>) => readonly string[];
  /** The tool without what these rules deny of it, where a part of it can be denied; nothing when all of it is. */
  readonly limitedBy?: (rules: readonly Rule[]) => AgentTool | undefined;
  /** Rejects with the signal's reason when that aborts; every other failure is an outcome. */
  readonly run: (input: Readonly<Record<string, unknown>>, context: CallContext) => Promise<ToolOutcome>;
};

/** How much of a tool's output a model is shown. The whole is kept. */
export type OutputLimits = { readonly maxLines: number; readonly maxBytes: number };

export type LimitedOutput = { readonly shown: string; readonly isCut: boolean };

const encoder = new TextEncoder();

/** The beginning of a text within so many bytes, without half a character at its end. */
const withinBytes = (text: string, limit: number): string => {
  if (text.length * 3 <= limit) return text;
  const room = new Uint8Array(limit);
  const { read } = encoder.encodeInto(text, room);
  return text.slice(0, read);
};

/** The beginning of an output, and a last line that says how much is left out. */
export const limitOutput = (text: string, { maxLines, maxBytes }: OutputLimits): LimitedOutput => {
  const lines = text.split('\n', maxLines + 1);
  const kept = withinBytes(lines.slice(0, maxLines).join('\n'), maxBytes);
  if (kept.length === text.length) return { shown: text, isCut: false };
  const left = text.length - kept.length;
  return { shown: `${kept}\n[${left} more characters were left out; the server keeps the whole output]`, isCut: true };
};
