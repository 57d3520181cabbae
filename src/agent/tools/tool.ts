import type { Span } from '../../core/http/tracing.ts';
import { NESTING_LIMIT } from '../../core/json.ts';
import type { ToolSpec } from '../model/types.ts';
import { isToolHidden } from '../protocol/permission-rules.ts';
import type { FilePart, Rule, ToolPart } from '../protocol/types.ts';

/** A file among the result of a tool: its media type, and its content as a `data:` URL. */
export type ToolFile = Pick<FilePart, 'mime' | 'url'>;

/** The line that a model reads in the place of a file, with why it does not get that. */
export const formatFileNote = ({ mime, url }: ToolFile, why: string): string =>
  `[${mime}, ${Math.ceil((url.length * 3) / 4000)} kB: ${why}]`;

/** The result of a tool call. `output` is for the model; `isError` marks it as an error for the model. */
export type ToolOutcome = {
  readonly output: string;
  readonly title: string;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly isError: boolean;
  /** What a success holds beside its output: images, audio and documents. */
  readonly files?: readonly ToolFile[];
};

/** A call that a model has requested. `input` is undefined when its arguments are no JSON object, or one nested too deeply. */
export type RequestedCall = {
  readonly part: ToolPart;
  readonly input: Readonly<Record<string, unknown>> | undefined;
  readonly raw: string;
};

/** What the model reads of a call whose arguments cannot be read. `raw` is what it gave. */
export const unreadableArguments = (raw: string): string =>
  `The arguments are not a JSON object (${raw.length} characters), or one of more than ${NESTING_LIMIT} levels`;
/** What the model reads of a call whose arguments do not fit the schema of the tool. */
export const unfitArguments = (error: string): string => `These arguments do not fit the schema:\n${error}`;

/** Where a call comes from, and the signal that aborts it. */
export type CallContext = {
  readonly sessionID: string;
  readonly messageID: string;
  readonly callID: string;
  readonly agent: string;
  readonly signal: AbortSignal;
  /** The call in its trace, where there is one. */
  readonly span?: Span | undefined;
};

/** A tool that a model may call. */
export type AgentTool = ToolSpec & {
  /** The tool server that it really comes from, and its name there: other tools may have similar names. */
  readonly origin?: { readonly server: string; readonly tool: string };
  /** Its server says that it may destroy or overwrite something. */
  readonly isDestructive?: boolean;
  /** Permission rules do not apply: the call has no effect but on the answer itself. */
  readonly isFree?: boolean;
  /** The texts that a rule's pattern must match; `*` when the arguments do not matter. */
  readonly patternsFor: (input: Readonly<Record<string, unknown>>) => readonly string[];
  /** The tool without the parts that these rules deny, where rules can deny a part of it; undefined when they deny all. */
  readonly limitedBy?: (rules: readonly Rule[]) => AgentTool | undefined;
  /** Rejects with the signal's reason when that aborts; every other failure is an outcome. */
  readonly run: (input: Readonly<Record<string, unknown>>, context: CallContext) => Promise<ToolOutcome>;
};

/** What the model reads of a call that was not made because of a permission request. Each ends the turn. */
export const CALL_REFUSED = {
  rejected: 'The user rejected this call.',
  cancelled: 'The user rejected another call of this session, so this one was not made.',
  expired: 'The permission request for this call was not answered in time, so the call was not made.',
} as const;

/** The tools that a model may see under these rules, each without the parts that the rules deny. */
export const toolsUnderRules = (tools: readonly AgentTool[], rules: readonly Rule[]): readonly AgentTool[] =>
  tools
    .filter(({ name }) => !isToolHidden(rules, name))
    .flatMap((tool) => (tool.limitedBy === undefined ? [tool] : (tool.limitedBy(rules) ?? [])));
