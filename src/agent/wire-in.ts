import * as v from 'valibot';
import { issueOf, readJson } from '../core/body.ts';
import { Fault } from '../core/fault.ts';
import { isRecord } from '../core/record.ts';
import type { ModelRef } from './session.ts';

const Text = (limit: number) => v.pipe(v.string(), v.maxLength(limit));
const TITLE_CHARS = 500;
const NAME_CHARS = 200;

/** A model by name, `provider/key`; the key may hold slashes itself. */
const ModelName = v.pipe(
  v.string(),
  v.regex(/^[^/]+\/.+$/),
  v.transform((name): ModelRef => {
    const slash = name.indexOf('/');
    return { providerID: name.slice(0, slash), modelID: name.slice(slash + 1) };
  }),
);
const variant = v.optional(Text(NAME_CHARS));
const withVariant = (ref: { providerID: string; modelID: string }, chosen: string | undefined): ModelRef =>
  chosen === undefined ? ref : { ...ref, variant: chosen };

/** Sessions are given a model as `{providerID, id}`, messages as `{providerID, modelID}`; both also take a name. */
const Model = v.union([
  ModelName,
  v.pipe(
    v.object({ providerID: v.string(), id: v.string(), variant }),
    v.transform(({ providerID, id, variant: chosen }) => withVariant({ providerID, modelID: id }, chosen)),
  ),
  v.pipe(
    v.object({ providerID: v.string(), modelID: v.string(), variant }),
    v.transform(({ providerID, modelID, variant: chosen }) => withVariant({ providerID, modelID }, chosen)),
  ),
]);

const RuleIn = v.object({
  permission: Text(NAME_CHARS),
  pattern: Text(NAME_CHARS),
  action: v.picklist(['allow', 'ask', 'deny']),
});
const Metadata = v.record(v.string(), v.unknown());

export const SessionIn = v.object({
  parentID: v.optional(v.string()),
  title: v.optional(Text(TITLE_CHARS)),
  agent: v.optional(Text(NAME_CHARS)),
  model: v.optional(Model),
  metadata: v.optional(Metadata),
  permission: v.optional(v.pipe(v.array(RuleIn), v.maxLength(1000))),
});

export const SessionChangeIn = v.object({
  title: v.optional(Text(TITLE_CHARS)),
  metadata: v.optional(Metadata),
  permission: v.optional(v.pipe(v.array(RuleIn), v.maxLength(1000))),
  time: v.optional(v.object({ archived: v.optional(v.nullable(v.number())) })),
});

const PART_TYPES = 'text or file';
const DATA_URL = /^data:[\w.+-]+\/[\w.+-]+[;,]/;
const PartIn = v.variant('type', [
  v.object({
    type: v.literal('text'),
    id: v.optional(v.string()),
    text: v.string(),
    synthetic: v.optional(v.boolean()),
  }),
  v.object({
    type: v.literal('file'),
    id: v.optional(v.string()),
    mime: Text(NAME_CHARS),
    filename: v.optional(Text(TITLE_CHARS)),
    url: v.pipe(v.string(), v.regex(DATA_URL)),
  }),
]);

export const PromptIn = v.object({
  parts: v.pipe(v.array(PartIn), v.minLength(1), v.maxLength(100)),
  messageID: v.optional(v.string()),
  model: v.optional(Model),
  variant,
  agent: v.optional(Text(NAME_CHARS)),
  noReply: v.optional(v.boolean()),
  system: v.optional(v.string()),
  tools: v.optional(v.record(v.string(), v.boolean())),
});
export type PromptIn = v.InferOutput<typeof PromptIn>;

export const ReplyIn = v.variant('reply', [
  v.object({ reply: v.literal('once') }),
  v.object({ reply: v.literal('always') }),
  v.object({ reply: v.literal('reject'), message: v.optional(Text(4000)) }),
]);
/** The same under the name that older clients use. */
export const ResponseIn = v.object({ response: v.picklist(['once', 'always', 'reject']) });

const EXPECTED: Readonly<Record<string, string>> = {
  model: 'a model as "provider/key", or an object with providerID and id (sessions) or modelID (messages)',
  type: PART_TYPES,
  url: 'a data: URL; files of the server are not read',
};

/** What is wrong, where, in our words: never the value. */
const refusalOf = (issue: v.BaseIssue<unknown>): Fault => {
  const { path, expected } = issueOf(issue);
  const last = path.split('.').at(-1) ?? '';
  // Of what is missing the schema only repeats the name.
  const wanted = EXPECTED[last] ?? (issue.type === 'object' ? 'it to be there' : expected);
  return refusal(path, `${path}: expected ${wanted}`);
};
const refusal = (param: string | null, message: string): Fault =>
  new Fault({ kind: 'bad-input', code: 'invalid_body', param, message });

const BODY_LIMIT_BYTES = 32 * 1024 * 1024;

/** What frames or describes a body. Node shows a body, if an empty one, also where a request has none of these. */
const BODY_HEADERS = ['content-length', 'transfer-encoding', 'content-type'] as const;

const hasNoBody = ({ body, headers }: Request): boolean =>
  body === null || headers.get('content-length') === '0' || BODY_HEADERS.every((name) => !headers.has(name));

/** A request's body through a schema. `isOptional`: no body at all counts as an empty object. */
export const readBody = async <Schema extends v.GenericSchema>(
  request: Request,
  schema: Schema,
  isOptional = false,
): Promise<v.InferOutput<Schema>> => {
  const given = isOptional && hasNoBody(request) ? {} : await readJson(request, BODY_LIMIT_BYTES, request.signal);
  // A schema of an object lets a list through.
  if (!isRecord(given)) throw refusal(null, 'body: expected a JSON object');
  const result = v.safeParse(schema, given);
  if (result.success) return result.output;
  throw refusalOf(result.issues[0]);
};
