import { toJsonSchemaDefs } from '@valibot/to-json-schema';
import * as v from 'valibot';
import { adminPaths, adminSchemas } from './admin/openapi.ts';
import { GuardRequest } from './guard/request.ts';
import { CATEGORY_NAMES } from './policy/categories.ts';
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
const schemaRef = (name: string): string => `#/components/schemas/${name}`;
const schemas = toJsonSchemaDefs(COMPONENTS, {
  errorMode: 'ignore',
  overrideRef: ({ referenceId }) => schemaRef(referenceId),
});
const contentOf = (name: keyof typeof COMPONENTS) => ({
  content: { 'application/json': { schema: { $ref: schemaRef(name) } } },
});
const ok = (name: keyof typeof COMPONENTS) => ({ description: 'The answer', ...contentOf(name) });

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
const errorsOf = (...statuses: readonly number[]) =>
  Object.fromEntries(statuses.map((status) => [status, { description: REASONS[status], ...contentOf('Error') }]));

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
const BEARER = [{ bearer: [] }];
const idParameter = { name: 'id', in: 'path', required: true, schema: { type: 'string' } };

/** Creates the OpenAPI 3.1 document from the schemas that the service reads requests with and that the tests check. */
export const createGatewayOpenApi = (version: string, hasAdmin: boolean) => ({
  openapi: '3.1.0',
  info: { title: 'Gatehouse moderation gateway', version, license: { name: 'Apache-2.0' } },
  components: {
    schemas: { ...schemas, ...(hasAdmin ? adminSchemas() : {}) },
    securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } },
  },
  paths: {
    '/v1/moderations': {
      post: {
        operationId: 'createModeration',
        security: BEARER,
        requestBody: { required: true, ...contentOf('ModerationRequest') },
        responses: { 200: moderated, ...errorsOf(400, 401, 404, 408, 415, 429, 502, 503, 504) },
      },
    },
    '/v1/chat/completions': {
      post: {
        operationId: 'askGuard',
        security: BEARER,
        requestBody: { required: true, ...contentOf('GuardRequest') },
        responses: { 200: ok('GuardCompletion'), ...errorsOf(400, 401, 404, 415, 429, 502, 503, 504) },
      },
    },
    [LITELLM_PATH]: {
      post: {
        operationId: 'askForLitellm',
        security: BEARER,
        requestBody: { required: true, ...contentOf('ForeignRequest') },
        responses: { 200: ok('LitellmAnswer'), ...errorsOf(400, 401, 404, 408, 415, 429, 500, 502, 503, 504) },
      },
    },
    // Every failure is an answer too: Portkey passes errors.
    [PORTKEY_PATH]: {
      post: {
        operationId: 'askForPortkey',
        security: BEARER,
        requestBody: { required: true, ...contentOf('ForeignRequest') },
        responses: { 200: ok('PortkeyAnswer') },
      },
    },
    '/v1/models': {
      get: { operationId: 'listModels', security: BEARER, responses: { 200: ok('ModelList'), ...errorsOf(401) } },
    },
    '/v1/models/{id}': {
      get: {
        operationId: 'retrieveModel',
        security: BEARER,
        parameters: [idParameter],
        responses: { 200: ok('Model'), ...errorsOf(401, 404) },
      },
    },
    '/health': { get: { operationId: 'health', responses: { 200: ok('Health') } } },
    '/ready': { get: { operationId: 'ready', responses: { 200: ok('Ready'), 503: ok('Ready') } } },
    ...(hasAdmin ? adminPaths({ errorsOf, security: BEARER }) : {}),
    '/metrics': { get: { operationId: 'metrics', responses: { 200: { description: 'Prometheus text' } } } },
  },
});
