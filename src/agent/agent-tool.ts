import type { ToolSpec } from './chat-model.ts';

/** What a tool call came to. `output` is for the model; an error is one that the model should hear of. */
export type ToolOutcome = {
  readonly output: string;
  readonly title: string;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly isError: boolean;
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
  /** What a permission rule's pattern is held against; `*` when the arguments do not matter. */
  readonly patternsOf: (input: Readonly<Record<string, unknown>>) => readonly string[];
  /** Rejects with the signal's reason when that aborts; every other failure is an outcome. */
  readonly run: (input: Readonly<Record<string, unknown>>, context: CallContext) => Promise<ToolOutcome>;
};
