import * as v from 'valibot';
import { isRecord } from '../../../core/json.ts';
import { type BridgeRequest, badInput, textOfParts } from '../../request.ts';
import { parseApprovalHeader } from '../../turn/approval-parser.ts';
import { isTask } from '../background-tasks.ts';
import { type IsNeutral, is, isEmpty, never, readAs, refuseTooMany } from '../body.ts';
import { placeOf } from '../conversation-id.ts';
import { Messages, transcriptOf } from './messages.ts';

type Given = Readonly<Record<string, unknown>>;

const isOnlyText: IsNeutral = (value) => Array.isArray(value) && value.every((modality) => modality === 'text');

/** Members that change an answer elsewhere and not here, and the values that ask for nothing. */
const WITHOUT_EFFECT: Readonly<Record<string, IsNeutral>> = {
  audio: never,
  frequency_penalty: is(0),
  function_call: is('none', 'auto'),
  functions: isEmpty,
  logit_bias: isEmpty,
  logprobs: is(false),
  max_completion_tokens: never,
  max_tokens: never,
  modalities: isOnlyText,
  moderation: never,
  parallel_tool_calls: is(true),
  prediction: never,
  presence_penalty: is(0),
  response_format: (value) => isRecord(value) && value.type === 'text',
  seed: never,
  service_tier: is('auto', 'default'),
  stop: isEmpty,
  temperature: is(1),
  tool_choice: is('none', 'auto'),
  tools: isEmpty,
  top_logprobs: is(0),
  top_p: is(1),
  verbosity: is('medium'),
  web_search_options: never,
};

/** Names of the members that were given and have no effect here, in the order of the alphabet. */
export const ignoredIn = (body: Given): readonly string[] =>
  Object.entries(WITHOUT_EFFECT).flatMap(([name, isNeutral]) => {
    const value = body[name];
    return value === undefined || value === null || isNeutral(value) ? [] : [name];
  });

/** The members of the body that are read. */
export const ChatRequestBody = v.object({
  messages: Messages,
  model: v.nullish(v.string()),
  n: v.nullish(v.number()),
  reasoning_effort: v.nullish(v.string()),
  store: v.nullish(v.boolean()),
  stream: v.nullish(v.boolean()),
  stream_options: v.nullish(v.object({ include_usage: v.nullish(v.boolean()) })),
});

/** A request for a chat completion. `includeUsage`: a stream of it ends with what it cost. */
export type ParsedChatRequest = BridgeRequest & { readonly includeUsage: boolean };

const refuseSeveral = (n: number | null | undefined): void => {
  if (n !== undefined && n !== null && n !== 1)
    throw badInput('unsupported_value', 'n', "Unsupported value at 'n': there is one answer to a request here");
};

/** Whether a choice leaves it open that no tool of the client is called. */
const isFree = (choice: unknown): boolean => {
  if (choice === undefined || choice === null || choice === 'none' || choice === 'auto') return true;
  const { mode } = isRecord(choice) && isRecord(choice.allowed_tools) ? choice.allowed_tools : {};
  return mode === 'auto';
};

const refuseForcedTools = (body: Readonly<Record<string, unknown>>): void => {
  for (const name of ['tool_choice', 'function_call'])
    if (!isFree(body[name]))
      throw badInput(
        'unsupported_value',
        name,
        `Unsupported value at '${name}': a client's tools are not called here, the agent has its own`,
      );
};

/** No name, and no effort, is the default one. */
const nonEmpty = (value: string | null | undefined): string | undefined => {
  const trimmed = value?.trim() ?? '';
  return trimmed === '' ? undefined : trimmed;
};

/** What the body of `POST /v1/chat/completions` asks. Faults with `bad-input`, naming the place. */
export const parseChatRequest = (body: unknown, headers: Headers): ParsedChatRequest => {
  if (!isRecord(body)) throw badInput('invalid_type', null, 'Expected a JSON object as the body');
  refuseTooMany(body.messages, 'messages');
  const { messages, model, n, reasoning_effort, store, stream, stream_options } = readAs(ChatRequestBody, body);
  refuseSeveral(n);
  refuseForcedTools(body);
  const { system, history, prompt } = transcriptOf(messages);
  const isStreamed = stream === true;
  const signs = { system, words: textOfParts(prompt), hasHistory: history.length > 0, isStreamed };
  const isOwnTask = isTask(signs);
  const effort = nonEmpty(reasoning_effort);
  return {
    model: nonEmpty(model),
    system,
    history,
    prompt,
    isStreamed,
    includeUsage: stream_options?.include_usage === true,
    effort: effort === 'none' ? undefined : effort,
    isStored: store !== false,
    conversation: placeOf(headers, body, { isStreamed, isTask: isOwnTask }),
    isBackgroundTask: isOwnTask,
    approval: parseApprovalHeader(headers),
    ignored: ignoredIn(body),
  };
};
