import * as v from 'valibot';
import { type BridgeRequest, badInput, userTextIn } from '../../request.ts';
import { parseTextFormat } from '../answer-format.ts';
import { parseApprovalHeader } from '../approval-header.ts';
import { isBackgroundTask } from '../background-tasks.ts';
import { type HasNoEffect, isEmpty, isNever, isOneOf, parseBodyObject, parseMember, refuseTooMany } from '../body.ts';
import { areAllFunctions, parseClientTools } from '../client-tools.ts';
import { parseConversationReference } from '../conversation-id.ts';
import {
  A_BOOLEAN,
  A_LIST,
  A_TEXT,
  AN_OBJECT,
  COMPLETION_VALUES,
  type ParameterTable,
  refuseOtherValues,
  wholeNumberFrom,
} from '../parameter-values.ts';
import { Messages, parseMessages } from './messages.ts';

type RequestBody = Readonly<Record<string, unknown>>;

const isOnlyText: HasNoEffect = (value) => Array.isArray(value) && value.every((modality) => modality === 'text');

/** Members that change an answer elsewhere and not here, and the values that make no difference. */
const UNSUPPORTED_MEMBERS: Readonly<Record<string, HasNoEffect>> = {
  audio: isNever,
  frequency_penalty: isOneOf(0),
  function_call: isOneOf('none', 'auto'),
  functions: isEmpty,
  logit_bias: isEmpty,
  logprobs: isOneOf(false),
  max_completion_tokens: isNever,
  max_tokens: isNever,
  modalities: isOnlyText,
  moderation: isNever,
  prediction: isNever,
  presence_penalty: isOneOf(0),
  seed: isNever,
  service_tier: isOneOf('auto', 'default'),
  stop: isEmpty,
  temperature: isOneOf(1),
  tools: areAllFunctions,
  top_logprobs: isOneOf(0),
  top_p: isOneOf(1),
  verbosity: isOneOf('medium'),
  web_search_options: isNever,
};

/** Names of the members that were sent and have no effect here, in alphabetical order. */
const ignoredChatMembers = (body: RequestBody): readonly string[] =>
  Object.entries(UNSUPPORTED_MEMBERS).flatMap(([name, isNeutral]) => {
    const value = body[name];
    return value === undefined || value === null || isNeutral(value) ? [] : [name];
  });

/** Those of the members without a schema. */
const PARAMETER_VALUES: ParameterTable = {
  ...COMPLETION_VALUES,
  audio: AN_OBJECT,
  functions: A_LIST,
  logprobs: A_BOOLEAN,
  max_completion_tokens: wholeNumberFrom(0),
  modalities: A_LIST,
  parallel_tool_calls: A_BOOLEAN,
  prediction: AN_OBJECT,
  service_tier: A_TEXT,
  top_logprobs: wholeNumberFrom(0, 20),
  verbosity: A_TEXT,
  web_search_options: AN_OBJECT,
};

/** The members of the body that have an effect. */
export const ChatRequestBody = v.object({
  messages: Messages,
  model: v.nullish(v.string()),
  n: v.nullish(v.number()),
  reasoning_effort: v.nullish(v.string()),
  store: v.nullish(v.boolean()),
  stream: v.nullish(v.boolean()),
  stream_options: v.nullish(v.object({ include_usage: v.nullish(v.boolean()) })),
});

/** A parsed request for a chat completion. `includeUsage`: its stream ends with the token usage. */
export type ParsedChatRequest = BridgeRequest & { readonly includeUsage: boolean };

const refuseSeveralChoices = (n: number | null | undefined): void => {
  if (n !== undefined && n !== null && n !== 1)
    throw badInput('unsupported_value', 'n', "Unsupported value at 'n': there is one answer to a request here");
};

const refuseForcedFunction = ({ function_call: choice }: RequestBody): void => {
  if (choice === undefined || choice === null || choice === 'none' || choice === 'auto') return;
  throw badInput(
    'unsupported_value',
    'function_call',
    "Unsupported value at 'function_call': it is replaced by 'tool_choice', with 'tools'",
  );
};

/** A blank model or effort means the default. */
const nonEmpty = (value: string | null | undefined): string | undefined => {
  const trimmed = value?.trim() ?? '';
  return trimmed === '' ? undefined : trimmed;
};

/** Parses the body of `POST /v1/chat/completions`. Faults with `bad-input`, whose `param` is the path of the member. `values`: those of the body's endpoint. */
export const parseChatRequest = (
  given: unknown,
  headers: Headers,
  values: ParameterTable = PARAMETER_VALUES,
): ParsedChatRequest => {
  const body = parseBodyObject(given);
  refuseOtherValues(body, values);
  refuseTooMany(body.messages, 'messages');
  const { messages, model, n, reasoning_effort, store, stream, stream_options } = parseMember(ChatRequestBody, body);
  refuseSeveralChoices(n);
  refuseForcedFunction(body);
  const clientTools = parseClientTools(body);
  const format = parseTextFormat(body.response_format, 'response_format');
  const { system, history, input, files, prefill, isByInstruction } = parseMessages(messages);
  const isStreamed = stream === true;
  const traits = { system, promptText: userTextIn(input), hasHistory: history.length > 0, isStreamed };
  const isOwnTask = isBackgroundTask(traits);
  const effort = nonEmpty(reasoning_effort);
  return {
    model: nonEmpty(model),
    system,
    history,
    input,
    files,
    ...(prefill === '' ? {} : { prefill }),
    isStreamed,
    includeUsage: stream_options?.include_usage === true,
    effort: effort === 'none' ? undefined : effort,
    isStored: store !== false,
    conversation: parseConversationReference(headers, body, { isStreamed, isTask: isOwnTask }),
    isBackgroundTask: isOwnTask,
    approval: parseApprovalHeader(headers),
    ...(isByInstruction ? { approvals: [] } : {}),
    ...(format === undefined ? {} : { format }),
    ...(clientTools === undefined || isOwnTask ? {} : { clientTools }),
    ignored: ignoredChatMembers(body),
  };
};
