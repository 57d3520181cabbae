import { toJsonSchema } from '@valibot/to-json-schema';
import * as v from 'valibot';
import { expectedText } from '../core/config.ts';
import type { CallDeadline } from './call-deadline.ts';
import { RelayError } from './errors/errors.ts';

/** The protocol's hints about a tool. All four are set: the protocol's defaults would call a read destructive. */
type Annotations = {
  readonly readOnlyHint: boolean;
  readonly destructiveHint: boolean;
  readonly idempotentHint: boolean;
  readonly openWorldHint: boolean;
};

type JsonSchema = { readonly type: 'object'; readonly [name: string]: unknown };

/** A tool as the protocol lists it. */
export type PublishedTool = {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly inputSchema: JsonSchema;
  readonly outputSchema: JsonSchema;
  readonly annotations: Annotations & { readonly title: string };
};

/** The structured result of a tool. */
export type ToolResult = Readonly<Record<string, unknown>>;

/** A tool without its type parameters: it parses its arguments and returns what its output schema allows. */
export type Tool = {
  readonly name: string;
  readonly isWriter: boolean;
  readonly published: PublishedTool;
  /** Throws a `RelayError`. */
  readonly call: (given: unknown, call: CallDeadline) => Promise<ToolResult>;
};

type ObjectSchema = v.GenericSchema<Record<string, unknown>, Record<string, unknown>>;

type ToolDefinition<Input extends v.GenericSchema, Output extends ObjectSchema> = {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly annotations: Annotations;
  /** A strict object whose fields have a description each. */
  readonly input: Input;
  readonly output: Output;
  readonly run: (input: v.InferOutput<Input>, call: CallDeadline) => Promise<v.InferInput<Output>>;
};

/** The hints of a tool that changes nothing. `openWorld`: its result may hold text that end users wrote. */
export const readOnlyHints = (openWorld: boolean): Annotations => ({
  readOnlyHint: true,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: openWorld,
});

/** The hints of a tool that changes something. Repeating it with the same arguments changes nothing more. */
export const WRITING_HINTS: Annotations = {
  readOnlyHint: false,
  destructiveHint: true,
  idempotentHint: true,
  openWorldHint: false,
};

const toPublishedSchema = (schema: v.GenericSchema, typeMode: 'input' | 'output'): JsonSchema => {
  const { $schema: _dialect, ...published } = toJsonSchema(schema, { typeMode, errorMode: 'ignore' });
  return { ...published, type: 'object' };
};

const isUnknownArgument = (issue: v.BaseIssue<unknown>): boolean =>
  issue.type === 'strict_object' && issue.expected === 'never';

/** What is wrong with an argument: its name and what was expected, never the given value. */
const describeIssue = (issue: v.BaseIssue<unknown>, known: readonly string[]): string => {
  if (isUnknownArgument(issue)) return `unknown argument; this tool takes ${known.join(', ') || 'none'}`;
  const path = v.getDotPath(issue);
  return path === null ? 'expected an object of arguments' : `${path}: ${issue.message}`;
};

/** Creates a tool from its definition. Checks its output too, so that no client rejects the result of a change that was made. */
export const defineTool = <const Input extends v.GenericSchema, const Output extends ObjectSchema>({
  name,
  title,
  description,
  annotations,
  input,
  output,
  run,
}: ToolDefinition<Input, Output>): Tool => {
  const inputSchema = toPublishedSchema(input, 'input');
  const { properties = {} } = inputSchema;
  const known = typeof properties === 'object' && properties !== null ? Object.keys(properties) : [];
  return {
    name,
    isWriter: !annotations.readOnlyHint,
    published: {
      name,
      title,
      description,
      inputSchema,
      outputSchema: toPublishedSchema(output, 'output'),
      annotations: { title, ...annotations },
    },
    async call(given, call) {
      const parsed = v.safeParse(input, given ?? {}, { message: expectedText });
      if (!parsed.success)
        // A misspelt argument is also missing under its own name: the list of names says more.
        throw new RelayError({
          kind: 'invalid-argument',
          what: describeIssue(parsed.issues.find(isUnknownArgument) ?? parsed.issues[0], known),
        });
      const result = v.safeParse(output, await run(parsed.output, call));
      if (result.success) return result.output;
      // After a change this must not claim that nothing was changed.
      throw new RelayError({ kind: 'bug', outcome: annotations.readOnlyHint ? 'not_applied' : 'unknown' });
    },
  };
};
