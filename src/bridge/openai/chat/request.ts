import * as v from 'valibot';
import { type BridgeRequest, unsupportedValue } from '../../request.ts';
import { parseBodyObject, parseMember, refuseTooMany } from '../body.ts';
import { toBridgeRequest } from '../bridge-request.ts';
import { CHAT_PARAMETERS, type ParameterTable, refuseOtherValues } from '../parameters.ts';
import { Messages, parseMessages } from './messages.ts';

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
  if (n !== undefined && n !== null && n !== 1) throw unsupportedValue('n', 'there is one answer to a request here');
};

const refuseForcedFunction = (choice: unknown): void => {
  if (choice === undefined || choice === null || choice === 'none' || choice === 'auto') return;
  throw unsupportedValue('function_call', "it is replaced by 'tool_choice', with 'tools'");
};

/** Parses the body of `POST /v1/chat/completions`. Faults with `bad-input`, whose `param` is the path of the member. `parameters`: those of the body's endpoint. */
export const parseChatRequest = (
  given: unknown,
  headers: Headers,
  parameters: ParameterTable = CHAT_PARAMETERS,
): ParsedChatRequest => {
  const body = parseBodyObject(given);
  refuseOtherValues(body, parameters);
  refuseTooMany(body.messages, 'messages');
  const { messages, n, reasoning_effort: effort, stream_options, ...members } = parseMember(ChatRequestBody, body);
  refuseSeveralChoices(n);
  refuseForcedFunction(body.function_call);
  const dialogue = parseMessages(messages);
  return {
    ...toBridgeRequest({ ...members, body, headers, parameters, formatAt: 'response_format', dialogue, effort }),
    includeUsage: stream_options?.include_usage === true,
  };
};
