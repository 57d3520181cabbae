import * as v from 'valibot';
import { isRecord } from '../../../core/json.ts';

type JsonObject = Readonly<Record<string, unknown>>;

const JsonRecord = v.custom<JsonObject>(isRecord);
const numberOrNull = v.fallback(v.nullable(v.number()), null);
const textOrNull = v.fallback(v.nullable(v.string()), null);

/** Values that a response repeats as they were sent, whether they have an effect here or not. One of another type counts as not sent. */
const RepeatedValues = v.object({
  background: v.fallback(v.boolean(), false),
  instructions: textOrNull,
  max_output_tokens: numberOrNull,
  max_tool_calls: numberOrNull,
  parallel_tool_calls: v.fallback(v.boolean(), true),
  prompt_cache_key: textOrNull,
  prompt_cache_retention: textOrNull,
  safety_identifier: textOrNull,
  store: v.fallback(v.boolean(), true),
  temperature: numberOrNull,
  tool_choice: v.fallback(v.union([v.string(), JsonRecord]), 'auto'),
  tools: v.fallback(v.array(JsonRecord), []),
  top_logprobs: v.fallback(v.number(), 0),
  top_p: numberOrNull,
  truncation: v.fallback(v.string(), 'disabled'),
  user: textOrNull,
});

const JsonSchemaFormat = v.object({
  type: v.literal('json_schema'),
  name: v.fallback(v.string(), 'answer'),
  description: textOrNull,
  schema: JsonRecord,
  strict: v.fallback(v.nullable(v.boolean()), null),
});
const TextSettings = v.object({
  format: v.fallback(v.union([JsonSchemaFormat, v.object({ type: v.picklist(['text', 'json_object']) })]), {
    type: 'text',
  }),
  verbosity: v.fallback(v.string(), 'medium'),
});
const ReasoningSettings = v.object({ effort: textOrNull, summary: textOrNull });

/** A tool as OpenAI repeats it: a function with all its members, a remote server without the secrets of its access. */
const toRepeatedTool = ({ authorization: _secret, headers: _secrets, ...tool }: JsonObject): JsonObject =>
  tool.type === 'function' ? { description: null, parameters: null, strict: null, ...tool } : tool;

const objectIn = (value: unknown): JsonObject => (isRecord(value) ? value : {});

/** The members of a response that repeat a body: the values that were sent, else OpenAI's defaults. */
export const repeatedMembers = (body: JsonObject) => {
  const values = v.parse(RepeatedValues, body);
  return {
    ...values,
    tools: values.tools.map(toRepeatedTool),
    text: v.parse(TextSettings, objectIn(body.text)),
    reasoning: v.parse(ReasoningSettings, objectIn(body.reasoning)),
  };
};

/** The members of a response that repeat its request, under OpenAI's names. */
export type ResponseEcho = ReturnType<typeof repeatedMembers> & {
  readonly conversation: { readonly id: string } | null;
  readonly metadata: Readonly<Record<string, string>>;
  readonly previous_response_id: string | null;
};

/** Those of a response whose request is no longer known. */
export const NO_ECHO: ResponseEcho = {
  ...repeatedMembers({}),
  conversation: null,
  metadata: {},
  previous_response_id: null,
};
