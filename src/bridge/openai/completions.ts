import * as v from 'valibot';
import type { ClientAnswer } from '../answer/client-answer.ts';
import { toFault } from '../answer/failure.ts';
import { createParagraphJoiner, type OutputEvent } from '../output.ts';
import { badInput, unsupportedValue } from '../request.ts';
import { parseBodyObject, parseMember } from './body.ts';
import { ChatRequestBody, type ParsedChatRequest, parseChatRequest } from './chat/request.ts';
import {
  approvalsMember,
  type ChatAnswerHeader,
  createChatCompletion,
  openingMembers,
  toChatUsage,
} from './chat/response.ts';
import { errorEvents } from './chat/stream.ts';
import type { Endpoint, StreamEncoder } from './endpoint.ts';
import { COMPLETION_PARAMETERS } from './parameters.ts';

/** The members of the body that have an effect or are refused. A list of numbers would be tokens. */
export const CompletionRequestBody = v.object({
  ...v.pick(ChatRequestBody, ['model', 'n', 'stream', 'stream_options']).entries,
  // Not looked through: a list may hold millions of tokens.
  prompt: v.union([v.string(), v.custom<readonly unknown[]>(Array.isArray)]),
  best_of: v.nullish(v.number()),
  echo: v.nullish(v.boolean()),
  suffix: v.nullish(v.string()),
});

/** The one text of a prompt: alone, or in a list. */
const parsePrompt = (prompt: string | readonly unknown[]): string => {
  const isList = typeof prompt !== 'string';
  const text = isList ? prompt[0] : prompt;
  if (typeof text === 'number' || Array.isArray(text))
    throw unsupportedValue('prompt', 'tokens are not read here, send the text');
  if (isList && prompt.length > 1)
    throw unsupportedValue('prompt', 'there is one answer to a request here, send each text by itself');
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
  const { prompt, echo, suffix } = parseMember(CompletionRequestBody, body);
  const content = parsePrompt(prompt);
  if (echo === true) throw unsupportedValue('echo', 'the answer never repeats the prompt');
  if (suffix) throw unsupportedValue('suffix', 'text is not completed in its middle here, ask for it in the prompt');
  // A completion has no place for calls, and no form but text.
  const { tools, tool_choice, functions, function_call, response_format, ...rest } = body;
  return parseChatRequest({ ...rest, messages: [{ role: 'user', content }] }, headers, COMPLETION_PARAMETERS);
};

/** The body of an answer that is not streamed: its text alone. Throws the fault of an answer that failed. */
export const createCompletion = async (output: AsyncIterable<OutputEvent>, header: ChatAnswerHeader) => {
  const { choices, ...answer } = await createChatCompletion(output, header);
  return {
    ...answer,
    object: 'text_completion' as const,
    choices: choices.map(({ index, message, finish_reason }) => ({
      index,
      text: message.content ?? '',
      logprobs: null,
      finish_reason,
    })),
  };
};

type CompletionStreamHeader = ChatAnswerHeader & { readonly includeUsage: boolean };

/**
 * Encodes a streamed completion: the answer's text alone. A failure is the last event, without a `[DONE]`, as in a chat.
 */
export const createCompletionEncoder = (header: CompletionStreamHeader): StreamEncoder => {
  const { includeUsage } = header;
  const opening = JSON.stringify(openingMembers(header, 'text_completion')).slice(0, -1);
  const beforeText = createParagraphJoiner();
  const chunk = (text: string, finish: string | null = null, more: object = {}) => {
    const choices = [{ index: 0, text, logprobs: null, finish_reason: finish }];
    const members = JSON.stringify({ choices, ...(includeUsage ? { usage: null } : {}), ...more });
    return { data: `${opening},${members.slice(1)}` };
  };
  return {
    first: async () => [],
    eventsFor(event) {
      switch (event.kind) {
        case 'text':
          return [chunk(beforeText(event.id) + event.text)];
        case 'end': {
          const usage = { data: `${opening},"choices":[],"usage":${JSON.stringify(toChatUsage(event.end.usage))}}` };
          const last = chunk('', event.end.finish, approvalsMember(event.end));
          return [last, ...(includeUsage ? [usage] : []), { data: '[DONE]' }];
        }
        case 'failure':
          throw toFault(event.failure);
        default:
          return [];
      }
    },
    errorEvents,
    empty: () => chunk(''),
  };
};

const headerOf = ({ model, includeUsage }: ParsedChatRequest, answer: ClientAnswer) => ({
  id: `cmpl-${answer.answerID}`,
  model: model ?? answer.model,
  createdSeconds: answer.createdSeconds,
  fingerprint: answer.fingerprint,
  includeUsage,
});

/** `POST /v1/completions`, for clients that still send it: a chat of one message, answered with text alone. */
export const completionsEndpoint: Endpoint<ParsedChatRequest> = {
  name: 'completions',
  effortMember: 'reasoning_effort',
  parse: parseCompletionRequest,
  toBody: (output, request, answer) => createCompletion(output, headerOf(request, answer)),
  createEncoder: (request, answer) => createCompletionEncoder(headerOf(request, answer)),
};
