import { toJsonSchemaDefs } from '@valibot/to-json-schema';
import * as v from 'valibot';
import { CheckRequest } from './check.ts';
import { RestRequest } from './routes.ts';
import { JudgeUsage, KeyReport, ProcessState } from './state.ts';

const { usage: _, ...StateEntries } = ProcessState.entries;
const Texts = v.array(v.string());
const Category = v.object({ name: v.string(), threshold: v.number() });

/** What `GET /admin/state` answers. */
export const AdminState = v.object({
  time: v.number(),
  version: v.string(),
  ...StateEntries,
  ...JudgeUsage.entries,
  aliases: v.array(
    v.object({
      alias: v.string(),
      model: v.string(),
      judge: v.string(),
      vision: v.boolean(),
      policy: v.string(),
      guard: v.optional(v.string()),
      /** The alias of its second judge. */
      second: v.optional(v.string()),
    }),
  ),
  policies: v.array(v.object({ version: v.string(), categories: v.array(Category) })),
  ready: v.object({ reasons: Texts, missing: Texts, warnings: Texts }),
});

/** What a rest and a release answer. */
export const KeyChangeAnswer = v.object({
  ...KeyReport.entries,
  applies_to: v.picklist(['process', 'replicas']),
});

/** What `POST /admin/check` answers. `result` is one of those of `POST /v1/moderations`. */
export const CheckAnswer = v.object({
  model: v.string(),
  backend_model: v.string(),
  policy: v.string(),
  cache: v.picklist(['hit', 'miss']),
  /** The judges that were asked now, and about which categories where not about all. */
  asked: v.array(v.object({ model: v.string(), categories: v.optional(v.array(v.string())) })),
  result: v.looseObject({ flagged: v.boolean() }),
  thresholds: v.record(v.string(), v.number()),
  hidden: v.array(v.picklist(['decoded', 'invisible'])),
  views: v.array(
    v.object({
      kind: v.picklist(['visible', 'decoded', 'invisible']),
      /** Its beginning, where it is very long. */
      text: v.string(),
      chars: v.number(),
      found: Texts,
    }),
  ),
  duration_ms: v.number(),
});

const COMPONENTS = { AdminState, RestRequest, KeyChangeAnswer, CheckRequest, CheckAnswer };
const schemaRef = (name: string): string => `#/components/schemas/${name}`;

type Content = { readonly content: object };
type PathsNeeds = {
  readonly errorsOf: (...statuses: readonly number[]) => object;
  readonly security: readonly object[];
};

/** The schemas of the admin routes. Made when asked for: few gateways have them. */
export const adminSchemas = () =>
  toJsonSchemaDefs(COMPONENTS, {
    errorMode: 'ignore',
    overrideRef: ({ referenceId }) => schemaRef(referenceId),
  });

/** The paths of the admin routes, for the description of a gateway that has them. */
export const adminPaths = ({ errorsOf, security }: PathsNeeds) => {
  const json = (name: keyof typeof COMPONENTS): Content => ({
    content: { 'application/json': { schema: { $ref: schemaRef(name) } } },
  });
  const ok = (name: keyof typeof COMPONENTS) => ({ 200: { description: 'The answer', ...json(name) } });
  const body = (name: keyof typeof COMPONENTS) => ({ requestBody: { required: true, ...json(name) } });
  const parameters = [{ name: 'fingerprint', in: 'path', required: true, schema: { type: 'string' } }];
  const events = {
    description: 'Server-sent events: verdict, keys, skipped, stopping. Last-Event-ID resumes',
    content: { 'text/event-stream': { schema: { type: 'string' } } },
  };
  return {
    '/admin/state': {
      get: { operationId: 'adminState', security, responses: { ...ok('AdminState'), ...errorsOf(401, 503) } },
    },
    '/admin/keys/{fingerprint}/rest': {
      post: {
        operationId: 'restBackendKey',
        security,
        parameters,
        ...body('RestRequest'),
        responses: { ...ok('KeyChangeAnswer'), ...errorsOf(400, 401, 404) },
      },
    },
    '/admin/keys/{fingerprint}/release': {
      post: {
        operationId: 'releaseBackendKey',
        security,
        parameters,
        responses: { ...ok('KeyChangeAnswer'), ...errorsOf(401, 404) },
      },
    },
    '/admin/check': {
      post: {
        operationId: 'checkText',
        security,
        ...body('CheckRequest'),
        responses: { ...ok('CheckAnswer'), ...errorsOf(400, 401, 404, 502, 503, 504) },
      },
    },
    '/admin/events': {
      get: { operationId: 'adminEvents', security, responses: { 200: events, ...errorsOf(401, 503) } },
    },
  };
};
