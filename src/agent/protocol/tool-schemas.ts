import * as v from 'valibot';
import { isRecord, isSchemaTooLong, SCHEMA_LIMIT_BYTES } from '../../core/json.ts';

/** The longest name of anything, in characters. */
export const NAME_CHARS = 200;
/** A text of at most so many characters. */
export const TextUpTo = (limit: number) => v.pipe(v.string(), v.maxLength(limit));

const RETRIES = 2;
/** A JSON Schema of an object, as tools have it: a model gives the value in the arguments of a call. */
const ObjectSchema = v.pipe(
  v.custom<Readonly<Record<string, unknown>>>(isRecord, 'expected a JSON Schema'),
  v.rawCheck(({ dataset, addIssue }) => {
    if (!dataset.typed) return;
    if (dataset.value.type !== 'object') addIssue({ expected: 'a JSON Schema with "type": "object"' });
    else if (isSchemaTooLong(dataset.value))
      addIssue({ expected: `a JSON Schema of at most ${SCHEMA_LIMIT_BYTES} bytes` });
  }),
);

/** The form of an answer, as a prompt names it. */
export const FormatBody = v.variant('type', [
  v.object({ type: v.literal('text') }),
  v.object({
    type: v.literal('json_schema'),
    schema: ObjectSchema,
    retryCount: v.optional(v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(10)), RETRIES),
  }),
]);

const TOOLS_LIMIT = 128;
/** Of all tools of a prompt: they are stored with it, and in the event about it. */
const TOOLS_LIMIT_BYTES = 256 * 1024;
const DESCRIPTION_CHARS = 16_000;
/** What all providers take as the name of a tool. */
const TOOL_NAME = /^[A-Za-z0-9_-]{1,64}$/;
const ToolName = v.pipe(v.string(), v.regex(TOOL_NAME, 'expected a name of 1 to 64 letters, digits, _ and -'));

/** The tools that run at the client, as a prompt names them. */
export const ClientToolsBody = v.object({
  tools: v.pipe(
    v.array(
      v.object({
        name: ToolName,
        description: v.optional(TextUpTo(DESCRIPTION_CHARS), ''),
        inputSchema: ObjectSchema,
      }),
    ),
    v.maxLength(TOOLS_LIMIT),
    v.rawCheck(({ dataset, addIssue }) => {
      if (!dataset.typed || new TextEncoder().encode(JSON.stringify(dataset.value)).length <= TOOLS_LIMIT_BYTES) return;
      addIssue({ expected: `tools of at most ${TOOLS_LIMIT_BYTES} bytes together as JSON` });
    }),
  ),
  choice: v.optional(v.union([v.picklist(['auto', 'required', 'none']), v.object({ name: ToolName })]), 'auto'),
  parallel: v.optional(v.boolean(), true),
});
export type ClientToolsBody = v.InferOutput<typeof ClientToolsBody>;

const RESULTS_LIMIT = 128;

/**
 * Results of client tools. `noReply`: the turn does not go on. `system`, `clientTools` and `format`: replace those of the prompt from
 * here on.
 */
export const ClientToolResultsBody = v.object({
  results: v.pipe(
    v.array(v.object({ callID: TextUpTo(NAME_CHARS), output: v.string(), isError: v.optional(v.boolean(), false) })),
    v.minLength(1),
    v.maxLength(RESULTS_LIMIT),
  ),
  noReply: v.optional(v.boolean(), false),
  system: v.optional(v.string()),
  clientTools: v.optional(ClientToolsBody),
  format: v.optional(FormatBody),
});
export type ClientToolResultsBody = v.InferOutput<typeof ClientToolResultsBody>;
