import * as v from 'valibot';
import { ChatRequestBody } from '../openai/chat/request.ts';
import { CompletionRequestBody } from '../openai/completions.ts';
import { ResponsesRequestBody } from '../openai/responses/request.ts';

const Count = v.pipe(v.number(), v.integer(), v.minValue(0));
/** The usage of chats and completions. */
const ChatUsage = v.object({ prompt_tokens: Count, completion_tokens: Count, total_tokens: Count });
const Approvals = v.optional(
  v.object({
    approvals: v.array(v.object({ id: v.pipe(v.string(), v.startsWith('per_')), tool: v.string(), input: v.string() })),
  }),
);

/** The call of a function of the client. */
const ToolCall = v.object({
  id: v.string(),
  type: v.literal('function'),
  function: v.object({ name: v.string(), arguments: v.string() }),
});

/** What `POST /v1/chat/completions` answers when nothing is streamed. */
const ChatAnswer = v.object({
  id: v.pipe(v.string(), v.startsWith('chatcmpl-')),
  object: v.literal('chat.completion'),
  created: Count,
  model: v.string(),
  choices: v.array(
    v.object({
      index: Count,
      message: v.object({
        role: v.literal('assistant'),
        content: v.nullable(v.string()),
        tool_calls: v.optional(v.array(ToolCall)),
        reasoning_content: v.optional(v.string()),
        refusal: v.nullable(v.string()),
      }),
      finish_reason: v.picklist(['stop', 'length', 'content_filter', 'tool_calls']),
    }),
  ),
  usage: ChatUsage,
  gatehouse: Approvals,
});

/** What `POST /v1/completions` answers when nothing is streamed. */
const CompletionAnswer = v.object({
  id: v.pipe(v.string(), v.startsWith('cmpl-')),
  object: v.literal('text_completion'),
  created: Count,
  model: v.string(),
  choices: v.array(
    v.object({
      index: Count,
      text: v.string(),
      logprobs: v.null(),
      finish_reason: v.picklist(['stop', 'length', 'content_filter']),
    }),
  ),
  usage: ChatUsage,
  gatehouse: Approvals,
});

/** What `POST /v1/responses` answers when nothing is streamed; output items are OpenAI's. */
const ResponseAnswer = v.object({
  id: v.pipe(v.string(), v.startsWith('resp_')),
  object: v.literal('response'),
  created_at: Count,
  status: v.picklist(['completed', 'incomplete', 'failed', 'in_progress', 'queued', 'cancelled']),
  model: v.string(),
  output: v.array(
    v.looseObject({ type: v.picklist(['message', 'reasoning', 'mcp_call', 'function_call']), id: v.string() }),
  ),
  gatehouse: Approvals,
});

/** Every failure, in the shape that OpenAI clients read. */
const ErrorAnswer = v.object({
  error: v.object({ message: v.string(), type: v.string(), param: v.nullable(v.string()), code: v.string() }),
});

const Model = v.object({ id: v.string(), object: v.literal('model'), created: Count, owned_by: v.string() });
const ModelList = v.object({ object: v.literal('list'), data: v.array(Model) });
const Health = v.object({ status: v.literal('ok'), service: v.string(), version: v.string() });
const Ready = v.object({ status: v.string(), reasons: v.optional(v.array(v.string())) });
const Deleted = v.object({ id: v.string(), object: v.literal('response'), deleted: v.literal(true) });

const Conversation = v.object({
  id: v.string(),
  object: v.literal('conversation'),
  created_at: Count,
  metadata: v.record(v.string(), v.string()),
});
const Item = v.looseObject({ id: v.string(), type: v.string() });
const NewItems = v.array(v.looseObject({ type: v.optional(v.string()) }));
const ItemList = v.object({
  object: v.literal('list'),
  data: v.array(Item),
  first_id: v.nullable(v.string()),
  last_id: v.nullable(v.string()),
  has_more: v.boolean(),
});
const Metadata = v.nullish(v.record(v.string(), v.string()));

/** Named schemas, so that each stands in the text once. */
export const COMPONENTS = {
  ChatRequest: ChatRequestBody,
  ChatAnswer,
  CompletionRequest: CompletionRequestBody,
  CompletionAnswer,
  ResponsesRequest: ResponsesRequestBody,
  ResponseAnswer,
  Deleted,
  Conversation,
  ConversationRequest: v.object({ items: v.nullish(NewItems), metadata: Metadata }),
  ConversationChange: v.object({ metadata: Metadata }),
  DeletedConversation: v.object({
    id: v.string(),
    object: v.literal('conversation.deleted'),
    deleted: v.literal(true),
  }),
  InputTokens: v.object({
    object: v.literal('response.input_tokens'),
    input_tokens: Count,
    gatehouse: v.object({ is_estimate: v.literal(true) }),
  }),
  Item,
  ItemsRequest: v.object({ items: NewItems }),
  ItemList,
  Error: ErrorAnswer,
  Model,
  ModelList,
  Health,
  Ready,
};
