import * as v from 'valibot';
import { Fault } from '../../core/fault.ts';
import { issueOf } from '../../core/http/body.ts';
import type { RequestBodies } from '../../core/http/request-bodies.ts';
import { isNestedBeyond, isRecord, NESTING_LIMIT } from '../../core/json.ts';
import { bytesAsJson, CommandParts, PromptParts } from './part-schemas.ts';
import { hasNoNul, TITLE_CHARS } from './title.ts';
import { ClientToolsBody, FormatBody, NAME_CHARS, TextUpTo } from './tool-schemas.ts';
import type { ModelRef } from './types.ts';
import { findMisspelledField } from './unknown-fields.ts';

const Title = v.pipe(TextUpTo(TITLE_CHARS), v.check(hasNoNul, 'expected a text without NUL'));

/** What a part may be, in words. */
const PART_TYPES = 'text or file';
/** A model by name, `provider/key`; the key may hold slashes itself. */
const ModelName = v.pipe(
  v.string(),
  v.regex(/^[^/]+\/.+$/),
  v.transform((name): ModelRef => {
    const slash = name.indexOf('/');
    return { providerID: name.slice(0, slash), modelID: name.slice(slash + 1) };
  }),
);
const variant = v.optional(TextUpTo(NAME_CHARS));
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

const RuleBody = v.object({
  permission: TextUpTo(NAME_CHARS),
  pattern: TextUpTo(NAME_CHARS),
  action: v.picklist(['allow', 'ask', 'deny']),
});
const METADATA_BYTES = 64 * 1024;
/** Every event about a session contains all of its metadata, so it is limited. */
const Metadata = v.pipe(
  v.record(v.string(), v.unknown()),
  v.rawCheck(({ dataset, addIssue }) => {
    if (dataset.typed && bytesAsJson(dataset.value) > METADATA_BYTES)
      addIssue({ expected: `an object of at most ${METADATA_BYTES} bytes as JSON` });
  }),
);

export const SessionBody = v.object({
  parentID: v.optional(v.string()),
  title: v.optional(Title),
  agent: v.optional(TextUpTo(NAME_CHARS)),
  model: v.optional(Model),
  metadata: v.optional(Metadata),
  permission: v.optional(v.pipe(v.array(RuleBody), v.maxLength(1000))),
});

export const SessionChangeBody = v.object({
  title: v.optional(Title),
  metadata: v.optional(Metadata),
  permission: v.optional(v.pipe(v.array(RuleBody), v.maxLength(1000))),
  time: v.optional(v.object({ archived: v.optional(v.nullable(v.number())) })),
});

const SWITCH_LIMIT = 200;

export const PromptBody = v.object({
  parts: PromptParts,
  messageID: v.optional(v.string()),
  model: v.optional(Model),
  variant,
  agent: v.optional(TextUpTo(NAME_CHARS)),
  noReply: v.optional(v.boolean()),
  system: v.optional(v.string()),
  tools: v.optional(v.pipe(v.record(TextUpTo(NAME_CHARS), v.boolean()), v.maxEntries(SWITCH_LIMIT))),
  format: v.optional(FormatBody),
  clientTools: v.optional(ClientToolsBody),
});
export type PromptBody = v.InferOutput<typeof PromptBody>;

/** Every placeholder of a template may repeat them. */
const ARGUMENTS_CHARS = 1024 * 1024;

/** A prompt by the name of a command. Clients send the model as `provider/key`, and files beside the arguments. */
export const CommandBody = v.object({
  command: v.string(),
  arguments: TextUpTo(ARGUMENTS_CHARS),
  parts: v.optional(CommandParts),
  messageID: v.optional(v.string()),
  model: v.optional(Model),
  variant,
  agent: v.optional(TextUpTo(NAME_CHARS)),
});
export type CommandBody = v.InferOutput<typeof CommandBody>;

const PRINTABLE = /^(?=.*\S)[^\p{C}\p{Zl}\p{Zp}]{1,128}$/u;
/** Not of OpenCode: who replies, and the hash of the arguments that were shown. */
const replier = {
  by: v.optional(
    v.pipe(
      v.string(),
      v.check((text) => PRINTABLE.test(text), 'expected 1 to 128 printable characters'),
    ),
  ),
  argumentsHash: v.optional(v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/, 'expected a SHA-256 in hexadecimal'))),
};
export const PermissionReplyBody = v.variant('reply', [
  v.object({ reply: v.literal('once'), ...replier }),
  v.object({ reply: v.literal('always'), ...replier }),
  v.object({ reply: v.literal('reject'), message: v.optional(TextUpTo(4000)), ...replier }),
]);
/** The same in the form of older clients, `POST /session/{id}/permissions/{permissionID}`. */
export const PermissionResponseBody = v.object({ response: v.picklist(['once', 'always', 'reject']) });

/** `messageID`: only messages before this one are copied; all without it. */
export const ForkBody = v.object({ messageID: v.optional(v.string()) });
export const RevertBody = v.object({ messageID: v.string(), partID: v.optional(v.string()) });
/** Clients also send `auto`, which has no effect: the summary is created now. */
export const SummarizeBody = v.object({ providerID: v.string(), modelID: v.string() });
/** A client's log entry. Nothing of it is read: the log contains no texts of clients. */
export const LogBody = v.object({});

const EXPECTED: Readonly<Record<string, string>> = {
  'format.type': 'text or json_schema',
  model: 'a model as "provider/key", or an object with providerID and id (sessions) or modelID (messages)',
  type: PART_TYPES,
  mime: 'a media type, such as image/png',
};

/** Keys of objects come from the sender, and may have any length. */
const PATH_CHARS = 300;
const shortenPath = (path: string): string => (path.length > PATH_CHARS ? `${path.slice(0, PATH_CHARS)}…` : path);

/** What is wrong and where: never the value. */
const toBodyFault = (issue: v.BaseIssue<unknown>): Fault => {
  const { path: whole, expected } = issueOf(issue);
  const path = shortenPath(whole);
  const last = path.split('.').at(-1) ?? '';
  // Of what is missing the schema only repeats the name.
  const wanted = EXPECTED[path] ?? EXPECTED[last] ?? (issue.type === 'object' ? undefined : expected);
  return invalidBody(path, wanted === undefined ? `${path}: is required` : `${path}: expected ${wanted}`);
};
const invalidBody = (param: string | null, message: string): Fault =>
  new Fault({ kind: 'bad-input', code: 'invalid_body', param, message });

/** Parses a request's body; a `bad-input` fault names what is wrong. `isOptional`: no body counts as an empty object. */
export type ReadBody = <Schema extends v.GenericSchema>(
  request: Request,
  schema: Schema,
  isOptional?: boolean,
) => Promise<v.InferOutput<Schema>>;

const parseBody = <Schema extends v.GenericSchema>(schema: Schema, given: unknown): v.InferOutput<Schema> => {
  // valibot's object schemas accept lists.
  if (!isRecord(given)) throw invalidBody(null, 'body: expected a JSON object');
  if (isNestedBeyond(given)) throw invalidBody(null, `body: expected at most ${NESTING_LIMIT} levels`);
  const misspelled = findMisspelledField(schema, given);
  if (misspelled !== undefined) {
    const { path, nearest } = misspelled;
    throw invalidBody(path, `${path}: unknown name, the nearest known one is ${nearest}`);
  }
  const result = v.safeParse(schema, given, { abortEarly: true });
  if (result.success) return result.output;
  throw toBodyFault(result.issues[0]);
};

/** Creates the function with which routes read and parse bodies. */
export const createReadBody =
  ({ readJson, readJsonIfAny }: Pick<RequestBodies, 'readJson' | 'readJsonIfAny'>): ReadBody =>
  async (request, schema, isOptional = false) => {
    const given = await (isOptional ? readJsonIfAny : readJson)(request);
    return parseBody(schema, given === undefined ? {} : given);
  };
