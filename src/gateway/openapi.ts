import { toJsonSchemaDefs } from '@valibot/to-json-schema';
import * as v from 'valibot';
import { ADMIN_COMPONENTS } from './admin/openapi.ts';
import { CATEGORY_NAMES } from './policy/categories.ts';
import { GuardRequest } from './routes/guard-face/request.ts';
import { LITELLM_PATH } from './routes/integrations/litellm.ts';
import { PORTKEY_PATH } from './routes/integrations/portkey.ts';
import { ModerationRequest } from './routes/request.ts';

const everyCategory = <Schema extends v.GenericSchema>(schema: Schema) =>
  v.object(Object.fromEntries(CATEGORY_NAMES.map((name) => [name, schema])));
const Flags = everyCategory(v.boolean());
const Scores = everyCategory(v.pipe(v.number(), v.minValue(0), v.maxValue(1)));
/** The operator's own categories, by the names that the policy file gives them. */
const OwnCategories = v.record(
  v.string(),
  v.object({ flagged: v.boolean(), score: v.pipe(v.number(), v.minValue(0), v.maxValue(1)) }),
);
/** How each score came about, by category; absent where a chat model gave all of them. */
const ScoreTypes = v.record(v.string(), v.picklist(['judged', 'probability', 'binary']));
const InputTypes = everyCategory(v.array(v.picklist(['text', 'image'])));

/** What `POST /v1/moderations` answers, as the tests of every runtime check it. */
export const ModerationAnswer = v.object({
  id: v.pipe(v.string(), v.startsWith('modr-')),
  model: v.string(),
  results: v.array(
    v.object({
      flagged: v.boolean(),
      categories: Flags,
      category_scores: Scores,
      scores: Scores,
      category_applied_input_types: InputTypes,
      x_categories: v.optional(OwnCategories),
      x_score_types: v.optional(ScoreTypes),
    }),
  ),
});

/** What `POST /v1/chat/completions` answers: the verdict is the content. */
export const GuardCompletion = v.object({
  id: v.pipe(v.string(), v.startsWith('chatcmpl-')),
  object: v.literal('chat.completion'),
  created: v.number(),
  model: v.string(),
  choices: v.array(
    v.object({
      index: v.number(),
      message: v.object({ role: v.literal('assistant'), content: v.string(), refusal: v.null() }),
      logprobs: v.null(),
      finish_reason: v.literal('stop'),
    }),
  ),
  usage: v.object({ prompt_tokens: v.number(), completion_tokens: v.number(), total_tokens: v.number() }),
});

/** What LiteLLM and Portkey ask is described by them, and read as far as it is understood. */
const ForeignRequest = v.looseObject({});
const LitellmAnswer = v.object({ action: v.picklist(['NONE', 'BLOCKED']), blocked_reason: v.optional(v.string()) });
const PortkeyAnswer = v.object({
  verdict: v.boolean(),
  data: v.union([v.object({ categories: v.array(v.string()) }), v.object({ error: v.string() })]),
});

/** Every failure, in the shape that OpenAI clients read. */
export const ErrorAnswer = v.object({
  error: v.object({ message: v.string(), type: v.string(), param: v.nullable(v.string()), code: v.string() }),
});

const Model = v.object({ id: v.string(), object: v.literal('model'), created: v.number(), owned_by: v.string() });
const ModelList = v.object({ object: v.literal('list'), data: v.array(Model) });
const Health = v.object({ status: v.literal('ok'), service: v.string(), version: v.string() });
const Names = v.optional(v.array(v.string()));
const Ready = v.object({ status: v.string(), reasons: Names, missing_models_for: Names });

/** Named schemas: each appears once in the document. */
const COMPONENTS = {
  ModerationRequest,
  ModerationAnswer,
  GuardRequest,
  GuardCompletion,
  ForeignRequest,
  LitellmAnswer,
  PortkeyAnswer,
  Flags,
  Scores,
  InputTypes,
  OwnCategories,
  ScoreTypes,
  Error: ErrorAnswer,
  Model,
  ModelList,
  Health,
  Ready,
};
type Component = keyof typeof COMPONENTS | keyof typeof ADMIN_COMPONENTS;

const schemaRef = (name: string): string => `#/components/schemas/${name}`;
const schemasOf = (components: Readonly<Record<string, v.GenericSchema>>) =>
  toJsonSchemaDefs(components, {
    errorMode: 'ignore',
    overrideRef: ({ referenceId }) => schemaRef(referenceId),
  });
const schemas = schemasOf(COMPONENTS);

const json = (name: Component) => ({ content: { 'application/json': { schema: { $ref: schemaRef(name) } } } });
const ok = (name: Component) => ({ description: 'The answer', ...json(name) });
const body = (name: Component) => ({ requestBody: { required: true, ...json(name) } });
const parameter = (name: string) => ({
  parameters: [{ name, in: 'path', required: true, schema: { type: 'string' } }],
});

const REASONS: Readonly<Record<string, string>> = {
  400: 'The input is not one that can be judged, or too large; `param` says where',
  401: 'No, a malformed or a wrong key',
  404: 'An unknown model, or an unknown key of the backend',
  408: 'The request body did not arrive in time',
  415: 'The body is not declared as JSON',
  429: 'The gateway key has used up its rate limit; see Retry-After',
  500: 'The backend gave no usable verdict',
  502: 'The backend failed, or gave no usable verdict (then x-should-retry is false)',
  503: 'Every backend key is cooling down, or too many requests wait; see Retry-After',
  504: 'The deadline passed',
};
const errorsOf = (statuses: readonly number[]) =>
  Object.fromEntries(statuses.map((status) => [status, { description: REASONS[status], ...json('Error') }]));

const header = (description: string) => ({ description, schema: { type: 'string' } });
const moderated = {
  ...ok('ModerationAnswer'),
  headers: {
    'x-moderation-score-type': header('How the scores came about: judged, probability, binary, or several of them'),
    'x-moderation-unjudged': header(
      'What was left out of the input, with UNJUDGED_INPUT=text: none, or image and part',
    ),
    'x-moderation-no-verdict': header(
      'On an answer that is flagged because there is no verdict: the code of its error',
    ),
  },
};
const feed = {
  description: 'Server-sent events: verdict, keys, skipped, stopping. Last-Event-ID resumes',
  content: { 'text/event-stream': { schema: { type: 'string' } } },
};

/** An operation that wants a key. `asked`: its parameters and its body. */
const keyed = (operationId: string, answer: object, errors: readonly number[], asked: object = {}) => ({
  operationId,
  security: [{ bearer: [] }],
  ...asked,
  responses: { 200: answer, ...errorsOf(errors) },
});

const ADMIN_PATHS = {
  '/admin/state': { get: keyed('adminState', ok('AdminState'), [401, 503]) },
  '/admin/keys/{fingerprint}/rest': {
    post: keyed('restBackendKey', ok('KeyChangeAnswer'), [400, 401, 404], {
      ...parameter('fingerprint'),
      ...body('RestRequest'),
    }),
  },
  '/admin/keys/{fingerprint}/release': {
    post: keyed('releaseBackendKey', ok('KeyChangeAnswer'), [401, 404], parameter('fingerprint')),
  },
  '/admin/check': {
    post: keyed('checkText', ok('CheckAnswer'), [400, 401, 404, 502, 503, 504], body('CheckRequest')),
  },
  '/admin/events': { get: keyed('adminEvents', feed, [401, 503]) },
};

const JUDGED = [400, 401, 404, 408, 415, 429, 502, 503, 504];

/** Creates the OpenAPI 3.1 document from the schemas that the service reads requests with and that the tests check. */
export const createGatewayOpenApi = (version: string, hasAdmin: boolean) => ({
  openapi: '3.1.0',
  info: { title: 'Gatehouse moderation gateway', version, license: { name: 'Apache-2.0' } },
  components: {
    // Few gateways have admin routes: their schemas are made when asked for.
    schemas: { ...schemas, ...(hasAdmin ? schemasOf(ADMIN_COMPONENTS) : {}) },
    securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } },
  },
  paths: {
    '/v1/moderations': { post: keyed('createModeration', moderated, JUDGED, body('ModerationRequest')) },
    '/v1/chat/completions': {
      post: keyed('askGuard', ok('GuardCompletion'), [400, 401, 404, 415, 429, 502, 503, 504], body('GuardRequest')),
    },
    [LITELLM_PATH]: {
      post: keyed('askForLitellm', ok('LitellmAnswer'), [...JUDGED, 500], body('ForeignRequest')),
    },
    // Every failure is an answer too: Portkey passes errors.
    [PORTKEY_PATH]: { post: keyed('askForPortkey', ok('PortkeyAnswer'), [], body('ForeignRequest')) },
    '/v1/models': { get: keyed('listModels', ok('ModelList'), [401]) },
    '/v1/models/{id}': { get: keyed('retrieveModel', ok('Model'), [401, 404], parameter('id')) },
    '/health': { get: { operationId: 'health', responses: { 200: ok('Health') } } },
    '/ready': { get: { operationId: 'ready', responses: { 200: ok('Ready'), 503: ok('Ready') } } },
    ...(hasAdmin ? ADMIN_PATHS : {}),
    '/metrics': { get: { operationId: 'metrics', responses: { 200: { description: 'Prometheus text' } } } },
  },
});
