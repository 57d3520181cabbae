import { type CompileSchema, parseModelJson, type SchemaCheck, SchemaError } from '../../core/json.ts';
import type { ModelMessage } from '../model/types.ts';
import type { MessageError, OutputFormat } from '../protocol/types.ts';
import { errorOutcome } from '../tools/permission-check.ts';
import { type AgentTool, type RequestedCall, unfitArguments } from '../tools/tool.ts';
import { noStructuredOutput } from './errors.ts';

/** The tool in whose arguments a model gives the answer, as OpenCode names it. */
export const STRUCTURED_OUTPUT = 'StructuredOutput';

const DESCRIPTION =
  'Gives the final answer to the user: the arguments are the answer. Call it once, when the answer is complete.';
const BY_CALL = `Give the final answer by calling the tool ${STRUCTURED_OUTPUT}. Its arguments are the answer, and no text beside them is read.`;
const AS_TEXT = 'Answer with one JSON value that fits this JSON Schema, and with nothing else:';
const MISSING = 'the answer was a text, and not one JSON value';
const UNREADABLE = 'the arguments of the call were no JSON object';

/** The answer of a turn as one JSON value. */
export type StructuredOutput = {
  /** The tool that takes the value; none for a model without tools. */
  readonly tools: readonly AgentTool[];
  /** What the model has to know, for its instructions. */
  readonly instruction: string;
  /** Takes the text of an answer without calls as the value, if it is one: not every backend can force a call. */
  readonly takeText: (text: string) => void;
  /** Counts the calls whose arguments cannot be read: these never reach the tool. */
  readonly takeUnreadable: (calls: readonly Pick<RequestedCall, 'part' | 'input'>[]) => void;
  /** The value, once one has arrived that fits the schema. */
  readonly value: () => { readonly value: unknown } | undefined;
  /** What the model is asked next, after an answer that was no value. */
  readonly reminder: () => readonly ModelMessage[];
  /** Why no value is waited for any more; undefined while the model may try again, which it may not in the last step. */
  readonly failure: (isLast: boolean) => MessageError | undefined;
};

/** Checks what the model gives as its answer, and lets it try again `retryCount` times. `takesTools`: whether the model can make calls. */
export const createStructuredOutput = (
  { schema, retryCount }: OutputFormat,
  { compileSchema, takesTools }: { readonly compileSchema: CompileSchema; readonly takesTools: boolean },
): StructuredOutput => {
  const instruction = takesTools ? BY_CALL : `${AS_TEXT}\n${JSON.stringify(schema)}`;
  let check: SchemaCheck | undefined;
  let given: { readonly value: unknown } | undefined;
  let failures = 0;
  let lastError = 'it gave none before its steps were over';
  let isUnanswered = false;

  const errorOf = (value: unknown): string | undefined => {
    try {
      check ??= compileSchema(schema);
      return check(value);
    } catch (error) {
      if (error instanceof SchemaError) return error.message;
      throw error;
    }
  };
  const fail = (error: string): void => {
    failures += 1;
    lastError = error;
  };
  /** Undefined where the value fits. The first one counts. */
  const take = (value: unknown): string | undefined => {
    const error = errorOf(value);
    if (error === undefined) given ??= { value };
    else fail(error);
    return error;
  };
  const tool: AgentTool = {
    name: STRUCTURED_OUTPUT,
    description: DESCRIPTION,
    // Some backends refuse a tool without them.
    inputSchema: { properties: {}, ...schema },
    isFree: true,
    patternsFor: () => ['*'],
    run: async (input) => {
      const error = take(input);
      if (error !== undefined) return errorOutcome(unfitArguments(error));
      return { output: 'The answer was given to the user.', title: 'Structured output', metadata: {}, isError: false };
    },
  };
  return {
    tools: takesTools ? [tool] : [],
    instruction,
    takeText(text) {
      const value = parseModelJson(text);
      if (value === undefined) fail(MISSING);
      else take(value);
      isUnanswered = given === undefined;
    },
    takeUnreadable(calls) {
      for (const { part, input } of calls) if (part.tool === STRUCTURED_OUTPUT && input === undefined) fail(UNREADABLE);
    },
    value: () => given,
    reminder: () => {
      if (!isUnanswered) return [];
      isUnanswered = false;
      const text = `That was not the answer in the form that was asked for: ${lastError}\n${instruction}`;
      return [{ role: 'user', content: [{ kind: 'text', text }] }];
    },
    failure: (isLast) => (failures <= retryCount && !isLast ? undefined : noStructuredOutput(lastError, retryCount)),
  };
};
