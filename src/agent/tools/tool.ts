import type { ToolSpec } from '../model/types.ts';
import type { Rule } from '../session.ts';

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
  /** The tool server that it is really of, and its name there: others may have names that look like it. */
  readonly origin?: { readonly server: string; readonly tool: string };
  /** What a permission rule's pattern is held against; `*` when the arguments do not matter. */
  readonly patternsOf: (input: Readonly<Record<string, unknown>>) => readonly string[];
  /** The tool without what these rules deny of it, where a part of it can be denied; nothing when all of it is. */
  readonly underRules?: (rules: readonly Rule[]) => AgentTool | undefined;
  /** Rejects with the signal's reason when that aborts; every other failure is an outcome. */
  readonly run: (input: Readonly<Record<string, unknown>>, context: CallContext) => Promise<ToolOutcome>;
};
