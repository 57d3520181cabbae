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

type Component = keyof typeof COMPONENTS;

/** An operation for the holder of a key. `errors`: the statuses of its failures. */
const operation = (operationId: string, answer: object, errors: readonly number[], more: object = {}) => ({
  operationId,
  security: [{ bearer: [] }],
  ...more,
  responses: { 200: answer, ...errorsOf(...errors) },
});
const bodyOf = (name: Component, required = true) => ({ requestBody: { required, ...contentOf(name) } });
const withID = (...parameters: readonly object[]) => ({ parameters: [idParameter, ...parameters] });

const answerOperation = (operationId: string, request: Component, answer: Component) => ({
  post: operation(operationId, okOrStream(answer), [400, 401, 404, 413, 415, 429, 502, 503, 504], {
    parameters: ANSWER_HEADERS,
    ...bodyOf(request),
  }),
});
const conversationOperation = (operationId: string, answer: Component, more: object = {}) =>
  operation(operationId, ok(answer), [400, 401, 404, 409, 502, 503], { ...withID(), ...more });

const PATHS = {
  '/v1/chat/completions': answerOperation('createChatCompletion', 'ChatRequest', 'ChatAnswer'),
  '/v1/completions': answerOperation('createCompletion', 'CompletionRequest', 'CompletionAnswer'),
  '/v1/responses': answerOperation('createResponse', 'ResponsesRequest', 'ResponseAnswer'),
  '/v1/responses/{id}': {
    get: operation('getResponse', okOrStream('ResponseAnswer'), [400, 401, 404, 502], withID(...STREAM_PARAMETERS)),
    delete: operation('deleteResponse', ok('Deleted'), [401, 404, 409, 502], withID()),
  },
  '/v1/responses/{id}/input_items': {
    get: operation('listInputItems', ok('ItemList'), [400, 401, 404, 502], withID(...PAGE_PARAMETERS)),
  },
  '/v1/responses/input_tokens': {
    post: operation(
      'countInputTokens',
      ok('InputTokens'),
      [400, 401, 404, 413, 415, 502, 503],
      bodyOf('ResponsesRequest'),
    ),
  },
  '/v1/responses/{id}/cancel': {
    post: operation('cancelResponse', ok('ResponseAnswer'), [400, 401, 404, 502, 503], withID()),
  },
  '/v1/conversations': {
    post: operation(
      'createConversation',
      ok('Conversation'),
      [400, 401, 413, 415, 502, 503],
      bodyOf('ConversationRequest', false),
    ),
  },
  '/v1/conversations/{id}': {
    get: conversationOperation('getConversation', 'Conversation'),
    post: conversationOperation('updateConversation', 'Conversation', bodyOf('ConversationChange')),
    delete: conversationOperation('deleteConversation', 'DeletedConversation'),
  },
  '/v1/conversations/{id}/items': {
    get: conversationOperation('listConversationItems', 'ItemList', withID(...PAGE_PARAMETERS)),
    post: conversationOperation('createConversationItems', 'ItemList', bodyOf('ItemsRequest')),
  },
  '/v1/conversations/{id}/items/{item_id}': {
    get: conversationOperation('getConversationItem', 'Item', withID(itemParameter)),
    delete: conversationOperation('deleteConversationItem', 'Conversation', withID(itemParameter)),
  },
  '/v1/models': { get: operation('listModels', ok('ModelList'), [401, 502]) },
  '/v1/models/{id}': { get: operation('retrieveModel', ok('Model'), [401, 404, 502], withID()) },
  '/health': { get: { operationId: 'health', responses: { 200: ok('Health') } } },
  '/ready': { get: { operationId: 'ready', responses: { 200: ok('Ready'), 503: ok('Ready') } } },
  '/metrics': { get: { operationId: 'metrics', responses: { 200: { description: 'Prometheus text' } } } },
};

/** The service's description in OpenAPI 3.1, made from the schemas that the service itself reads and is tested by. */
export const createBridgeOpenApi = (version: string) => ({
  openapi: '3.1.0',
  info: { title: 'Gatehouse bridge', version, license: { name: 'Apache-2.0' } },
  components: { schemas, securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } } },
  paths: PATHS,
});
