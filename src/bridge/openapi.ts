import { toJsonSchemaDefs } from '@valibot/to-json-schema';
import { COMPONENTS } from './openapi/schemas.ts';

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
  404: 'An unknown model, response, conversation or item',
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
const itemParameter = { ...idParameter, name: 'item_id' };
const PAGE_PARAMETERS = [
  { name: 'limit', in: 'query', required: false, schema: { type: 'integer', minimum: 1, maximum: 100, default: 20 } },
  { name: 'order', in: 'query', required: false, schema: { type: 'string', enum: ['asc', 'desc'], default: 'desc' } },
  { name: 'after', in: 'query', required: false, schema: { type: 'string' } },
];
const STREAM_PARAMETERS = [
  { name: 'stream', in: 'query', required: false, schema: { type: 'boolean', default: false } },
  { name: 'starting_after', in: 'query', required: false, schema: { type: 'integer', minimum: 0 } },
];
const conversationOperation = (operationId: string, answer: keyof typeof COMPONENTS) => ({
  operationId,
  security: BEARER,
  parameters: [idParameter],
  responses: { 200: ok(answer), ...errorsOf(400, 401, 404, 409, 502, 503) },
});
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
        parameters: [idParameter, ...STREAM_PARAMETERS],
        responses: { 200: okOrStream('ResponseAnswer'), ...errorsOf(400, 401, 404, 502) },
      },
      delete: {
        operationId: 'deleteResponse',
        security: BEARER,
        parameters: [idParameter],
        responses: { 200: ok('Deleted'), ...errorsOf(401, 404, 409, 502) },
      },
    },
    '/v1/responses/{id}/input_items': {
      get: {
        operationId: 'listInputItems',
        security: BEARER,
        parameters: [idParameter, ...PAGE_PARAMETERS],
        responses: { 200: ok('ItemList'), ...errorsOf(400, 401, 404, 502) },
      },
    },
    '/v1/responses/input_tokens': {
      post: {
        operationId: 'countInputTokens',
        security: BEARER,
        requestBody: { required: true, ...contentOf('ResponsesRequest') },
        responses: { 200: ok('InputTokens'), ...errorsOf(400, 401, 404, 413, 415, 502, 503) },
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
    '/v1/conversations': {
      post: {
        operationId: 'createConversation',
        security: BEARER,
        requestBody: { required: false, ...contentOf('ConversationRequest') },
        responses: { 200: ok('Conversation'), ...errorsOf(400, 401, 413, 415, 502, 503) },
      },
    },
    '/v1/conversations/{id}': {
      get: conversationOperation('getConversation', 'Conversation'),
      post: {
        ...conversationOperation('updateConversation', 'Conversation'),
        requestBody: { required: true, ...contentOf('ConversationChange') },
      },
      delete: conversationOperation('deleteConversation', 'DeletedConversation'),
    },
    '/v1/conversations/{id}/items': {
      get: {
        ...conversationOperation('listConversationItems', 'ItemList'),
        parameters: [idParameter, ...PAGE_PARAMETERS],
      },
      post: {
        ...conversationOperation('createConversationItems', 'ItemList'),
        requestBody: { required: true, ...contentOf('ItemsRequest') },
      },
    },
    '/v1/conversations/{id}/items/{item_id}': {
      get: { ...conversationOperation('getConversationItem', 'Item'), parameters: [idParameter, itemParameter] },
      delete: {
        ...conversationOperation('deleteConversationItem', 'Conversation'),
        parameters: [idParameter, itemParameter],
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
