import * as v from 'valibot';
import { badInput } from '../../request.ts';
import { parseBodyObject, parseMember } from '../body.ts';
import { ChatRequestBody, type ParsedChatRequest, parseChatRequest } from '../chat/request.ts';
import { COMPLETION_VALUES, type ParameterTable, wholeNumberFrom } from '../parameter-values.ts';

/** The members of the body that have an effect or are refused. A list of numbers would be tokens. */
export const CompletionRequestBody = v.object({
  ...v.pick(ChatRequestBody, ['model', 'n', 'stream', 'stream_options']).entries,
  // Not looked through: a list may hold millions of tokens.
  prompt: v.union([v.string(), v.custom<readonly unknown[]>(Array.isArray)]),
  best_of: v.nullish(v.number()),
  echo: v.nullish(v.boolean()),
  suffix: v.nullish(v.string()),
});

const PARAMETER_VALUES: ParameterTable = {
  ...COMPLETION_VALUES,
  best_of: wholeNumberFrom(0, 20),
  logprobs: wholeNumberFrom(0, 5),
};

const unsupported = (at: string, why: string) =>
  badInput('unsupported_value', at, `Unsupported value at '${at}': ${why}`);

/** The one text of a prompt: alone, or in a list. */
const parsePrompt = (prompt: string | readonly unknown[]): string => {
  const isList = typeof prompt !== 'string';
  const text = isList ? prompt[0] : prompt;
  if (typeof text === 'number' || Array.isArray(text))
    throw unsupported('prompt', 'tokens are not read here, send the text');
  if (isList && prompt.length > 1)
    throw unsupported('prompt', 'there is one answer to a request here, send each text by itself');
  if (typeof text !== 'string' || text.trim() === '')
    throw badInput('invalid_value', 'prompt', "Expected something to answer at 'prompt': it is empty");
  return text;
};

/**
 * Parses the body of `POST /v1/completions` as the chat completion with the prompt as its only message, which it is here. Faults with
 * `bad-input`, whose `param` is the path of the member.
 */
export const parseCompletionRequest = (given: unknown, headers: Headers): ParsedChatRequest => {
  const body = parseBodyObject(given);
  const { prompt, best_of, echo, suffix } = parseMember(CompletionRequestBody, body);
  const content = parsePrompt(prompt);
  if (echo === true) throw unsupported('echo', 'the answer never repeats the prompt');
  if (suffix) throw unsupported('suffix', 'text is not completed in its middle here, ask for it in the prompt');
  // A completion has no place for calls, and no form but text.
  const { tools, tool_choice, functions, function_call, response_format, ...rest } = body;
  const parsed = parseChatRequest({ ...rest, messages: [{ role: 'user', content }] }, headers, PARAMETER_VALUES);
  if (best_of === undefined || best_of === null || best_of === 1) return parsed;
  return { ...parsed, ignored: [...parsed.ignored, 'best_of'].sort() };
};
