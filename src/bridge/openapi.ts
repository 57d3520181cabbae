import { toJsonSchemaDefs } from '@valibot/to-json-schema';
import * as v from 'valibot';
import { ChatRequestBody } from './openai/chat/request.ts';
import { CompletionRequestBody } from './openai/completions/request.ts';
import { ResponsesRequestBody } from './openai/responses/request.ts';

const Count = v.pipe(v.number(), v.integer(), v.minValue(0));
const Approvals = v.optional(
  v.object({
    approvals: v.array(v.object({ id: v.pipe(v.string(), v.startsWith('per_')), tool: v.string(), input: v.string() })),
  }),
);

/** The call of a client's function, which `tool_choice` has forced. */
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
  usage: v.object({ prompt_tokens: Count, completion_tokens: Count, total_tokens: Count }),
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
  usage: v.object({ prompt_tokens: Count, completion_tokens: Count, total_tokens: Count }),
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

/** Named schemas, so that each stands in the text once. */
const COMPONENTS = {
  ChatRequest: ChatRequestBody,
  ChatAnswer,
  CompletionRequest: CompletionRequestBody,
  CompletionAnswer,
  ResponsesRequest: ResponsesRequestBody,
  ResponseAnswer,
  Deleted,
  Error: ErrorAnswer,
  Model,
  ModelList,
  Health,
  Ready,
};
const refTo = (name: string): string => `#/components/schemas/${name}`;
const schemas = toJsonSchemaDefs(COMPONENTS, {
  errorMode: 'ignore',
  typeMode: 'input',
  overrideRef: ({ referenceId }) => refTo(referenceId),
});
const contentOf = (name: keyof typeof COMPONENTS) => ({
  content: { 'application/json': { schema: { $ref: refTo(name) } } },
});
const ok = (name: keyof typeof COMPONENTS) => ({ description: 'The answer', ...contentOf(name) });
const okOrStream = (name: keyof typeof COMPONENTS) => ({
  description: 'The answer; with `stream` its events',
  content: {
    ...contentOf(name).content,
    'text/event-stream': { schema: { type: 'string' } },
  },
});

const REASONS: Readonly<Record<string, string>> = {
  400: 'Something in the request is wrong; `param` says where',
  401: 'No, a malformed or a wrong key',
  404: 'An unknown model or response',
  409: 'It cannot be done as things stand now',
  413: 'The body is too large',
  415: 'The body is not declared as JSON',
  429: "The rate limit of the agent's model is reached",
  502: 'The agent server, or its model, failed. With x-should-retry: false something may have been done',
  503: 'The agent server is not ready, the bridge is stopping, or too many requests wait; see Retry-After',
  504: 'The agent server did not answer in time',
};
const errorsOf = (...statuses: readonly number[]) =>
  Object.fromEntries(statuses.map((status) => [status, { description: REASONS[status], ...contentOf('Error') }]));

const BEARER = [{ bearer: [] }];
const idParameter = { name: 'id', in: 'path', required: true, schema: { type: 'string' } };
const header = (name: string, description: string) => ({
  name,
  in: 'header',
  required: false,
  description,
  schema: { type: 'string' },
});
const ANSWER_HEADERS = [
  header('x-session-id', 'The conversation of this request; every answer has this header'),
  header(
    'x-approval',
    '"approve <id>[, <id>]" or "reject <id> [reason]": answers a permission request of the agent, whatever the message says',
  ),
  header('Idempotency-Key', 'The same key and body get the same answer for ten minutes, and nothing runs twice'),
];

/** The service's description in OpenAPI 3.1, made from the schemas that the service itself reads and is tested by. */
export const createBridgeOpenApi = (version: string) => ({
  openapi: '3.1.0',
  info: { title: 'Gatehouse bridge', version, license: { name: 'Apache-2.0' } },
  components: { schemas, securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } } },
  paths: {
    '/v1/chat/completions': {
      post: {
        operationId: 'createChatCompletion',
        security: BEARER,
        parameters: ANSWER_HEADERS,
        requestBody: { required: true, ...contentOf('ChatRequest') },
        responses: { 200: okOrStream('ChatAnswer'), ...errorsOf(400, 401, 404, 413, 415, 429, 502, 503, 504) },
      },
    },
    '/v1/completions': {
      post: {
        operationId: 'createCompletion',
        security: BEARER,
        parameters: ANSWER_HEADERS,
        requestBody: { required: true, ...contentOf('CompletionRequest') },
        responses: { 200: okOrStream('CompletionAnswer'), ...errorsOf(400, 401, 404, 413, 415, 429, 502, 503, 504) },
      },
    },
    '/v1/responses': {
      post: {
        operationId: 'createResponse',
        security: BEARER,
        parameters: ANSWER_HEADERS,
        requestBody: { required: true, ...contentOf('ResponsesRequest') },
        responses: { 200: okOrStream('ResponseAnswer'), ...errorsOf(400, 401, 404, 413, 415, 429, 502, 503, 504) },
      },
    },
    '/v1/responses/{id}': {
      get: {
        operationId: 'getResponse',
        security: BEARER,
        parameters: [idParameter],
        responses: { 200: ok('ResponseAnswer'), ...errorsOf(401, 404, 502) },
      },
      delete: {
        operationId: 'deleteResponse',
        security: BEARER,
        parameters: [idParameter],
        responses: { 200: ok('Deleted'), ...errorsOf(401, 404, 409, 502) },
      },
    },
    '/v1/responses/{id}/cancel': {
      post: {
        operationId: 'cancelResponse',
        security: BEARER,
        parameters: [idParameter],
        responses: { 200: ok('ResponseAnswer'), ...errorsOf(400, 401, 404, 502, 503) },
      },
    },
    '/v1/models': {
      get: { operationId: 'listModels', security: BEARER, responses: { 200: ok('ModelList'), ...errorsOf(401, 502) } },
    },
    '/v1/models/{id}': {
      get: {
        operationId: 'retrieveModel',
        security: BEARER,
        parameters: [idParameter],
        responses: { 200: ok('Model'), ...errorsOf(401, 404, 502) },
      },
    },
    '/health': { get: { operationId: 'health', responses: { 200: ok('Health') } } },
    '/ready': { get: { operationId: 'ready', responses: { 200: ok('Ready'), 503: ok('Ready') } } },
    '/metrics': { get: { operationId: 'metrics', responses: { 200: { description: 'Prometheus text' } } } },
  },
});
