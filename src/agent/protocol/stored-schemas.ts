import * as v from 'valibot';
import { isRecord } from '../../core/json.ts';
import { type IdKind, isId } from './ids.ts';
import { dataUrlError, parseDataUrl } from './part-schemas.ts';
import { hasNoNul, TITLE_CHARS } from './title.ts';

/** An id of a kind, in the form in which this server creates ids. */
export const IdSchema = (kind: IdKind) =>
  v.pipe(
    v.string(),
    v.check((text) => isId(kind, text), `expected an id of a ${kind}`),
  );

/** Each fork of a session adds its number. */
const FORK_CHARS = 20;
const StoredTitle = v.pipe(
  v.string(),
  v.maxLength(TITLE_CHARS + FORK_CHARS, `expected at most ${TITLE_CHARS + FORK_CHARS} characters`),
  v.check(hasNoNul, 'expected a text without NUL'),
);

const Time = v.pipe(v.number(), v.safeInteger('expected whole milliseconds'), v.minValue(0, 'expected a time'));
/** An object with any names: valibot's own record drops names such as `constructor`. */
const JsonObject = v.custom<Readonly<Record<string, unknown>>>(isRecord, 'expected an object');
const Switches = v.custom<Readonly<Record<string, boolean>>>(
  (value) => isRecord(value) && Object.values(value).every((isOn) => typeof isOn === 'boolean'),
  'expected an object of true and false',
);
/** Sound to its end: it is not checked again when a model is sent it. */
const DataUrl = v.pipe(
  v.string(),
  v.check((url) => {
    const given = parseDataUrl(url);
    return given !== undefined && dataUrlError(given) === undefined;
  }, 'expected a data: URL with a media type and sound data'),
);
const text = v.string();
const number = v.number();
const optional = v.exactOptional;

const tokenEntries = {
  input: number,
  output: number,
  reasoning: number,
  cache: v.strictObject({ read: number, write: number }),
};
const SessionTokens = v.strictObject(tokenEntries);
const SpentTokens = v.strictObject({ ...tokenEntries, total: optional(number) });
/** A permission rule: what happens with calls of the tools and patterns that it matches. */
export const StoredRule = v.strictObject({
  permission: text,
  pattern: text,
  action: v.picklist(['allow', 'ask', 'deny']),
});

/** The point to which a session was reverted: what follows is removed with the next prompt, unless it is unreverted first. */
const StoredRevert = v.strictObject({ messageID: IdSchema('message'), partID: optional(IdSchema('part')) });

/** The calls of client tools whose results a session waits for: all in its last answer, which ended with them. */
const StoredAwaitedCalls = v.strictObject({
  messageID: IdSchema('message'),
  callIDs: v.array(text),
  /** From then on no result is taken. */
  expiresAt: Time,
});

/** A session as it is stored and as the wire shows it (OpenCode 1.x, `GET /session/{id}`). */
export const StoredSession = v.strictObject({
  id: IdSchema('session'),
  slug: text,
  projectID: text,
  directory: text,
  parentID: optional(IdSchema('session')),
  title: StoredTitle,
  agent: optional(text),
  /** `id` is the model's key here, unlike in messages. */
  model: optional(v.strictObject({ providerID: text, id: text, variant: optional(text) })),
  version: text,
  metadata: optional(JsonObject),
  permission: optional(v.array(StoredRule)),
  revert: optional(StoredRevert),
  awaitedCalls: optional(StoredAwaitedCalls),
  cost: number,
  tokens: SessionTokens,
  time: v.strictObject({ created: Time, updated: Time, compacting: optional(Time), archived: optional(Time) }),
});

const messageData = v.strictObject({ message: text });
/** Why an answer failed, in OpenCode's form. Messages are this server's own: a backend's body may name accounts and keys. */
const StoredError = v.variant('name', [
  v.strictObject({ name: v.literal('ProviderAuthError'), data: v.strictObject({ providerID: text, message: text }) }),
  v.strictObject({ name: v.literal('UnknownError'), data: v.strictObject({ message: text, ref: optional(text) }) }),
  v.strictObject({ name: v.literal('MessageOutputLengthError'), data: v.strictObject({}) }),
  v.strictObject({ name: v.literal('MessageAbortedError'), data: messageData }),
  v.strictObject({ name: v.literal('ContextOverflowError'), data: messageData }),
  v.strictObject({ name: v.literal('ContentFilterError'), data: messageData }),
  v.strictObject({
    name: v.literal('StructuredOutputError'),
    data: v.strictObject({ message: text, retries: number }),
  }),
  v.strictObject({
    name: v.literal('APIError'),
    data: v.strictObject({ message: text, statusCode: optional(number), isRetryable: v.boolean() }),
  }),
]);
/** Why a model stopped. */
const StoredFinish = v.picklist(['stop', 'length', 'tool-calls', 'content-filter', 'error', 'other', 'unknown']);

/** The tools that a client brings with a prompt. */
const StoredClientTools = v.strictObject({
  tools: v.array(v.strictObject({ name: text, description: text, inputSchema: JsonObject })),
  /** `required`: the turn does not end without a call of one of them; a name: of this one. `none`: they are not offered. */
  choice: v.union([v.picklist(['auto', 'required', 'none']), v.strictObject({ name: text })]),
  /** Whether one step may call several of them. */
  parallel: v.boolean(),
});

const messageEntries = { id: IdSchema('message'), sessionID: IdSchema('session'), agent: text };

/** A message as it is stored, without its parts. An answer is one step of a model: a turn with tool calls has several. */
export const StoredMessage = v.variant('role', [
  v.strictObject({
    ...messageEntries,
    role: v.literal('user'),
    /** `resumed`: when the results came with which its answer goes on. */
    time: v.strictObject({ created: Time, resumed: optional(Time) }),
    model: v.strictObject({ providerID: text, modelID: text, variant: optional(text) }),
    system: optional(text),
    tools: optional(Switches),
    /** A text, unless this says otherwise: one JSON value. `retryCount`: how many more the model may try after one that does not fit. */
    format: optional(v.strictObject({ type: v.literal('json_schema'), schema: JsonObject, retryCount: number })),
    clientTools: optional(StoredClientTools),
  }),
  v.strictObject({
    ...messageEntries,
    role: v.literal('assistant'),
    /** The user message that it answers. */
    parentID: IdSchema('message'),
    mode: text,
    modelID: text,
    providerID: text,
    variant: optional(text),
    path: v.strictObject({ cwd: text, root: text }),
    time: v.strictObject({ created: Time, completed: optional(Time) }),
    cost: number,
    tokens: SpentTokens,
    finish: optional(StoredFinish),
    error: optional(StoredError),
    /** Whether it replaces earlier messages (compaction). */
    summary: optional(v.boolean()),
    /** The value that the prompt's `format` asked for. */
    structured: optional(v.unknown()),
  }),
]);

const ClosedSpan = v.strictObject({ start: Time, end: Time });
const OpenSpan = v.strictObject({ start: Time, end: optional(Time) });
const partEntries = { id: IdSchema('part'), sessionID: IdSchema('session'), messageID: IdSchema('message') };
const StoredFile = v.strictObject({
  ...partEntries,
  type: v.literal('file'),
  mime: text,
  filename: optional(text),
  url: DataUrl,
  /** What a client has attached to a part of its prompt, for itself. */
  metadata: optional(JsonObject),
});
const StoredToolState = v.variant('status', [
  v.strictObject({ status: v.literal('pending'), input: JsonObject, raw: text }),
  v.strictObject({
    status: v.literal('running'),
    input: JsonObject,
    title: optional(text),
    metadata: optional(JsonObject),
    time: v.strictObject({ start: Time }),
  }),
  v.strictObject({
    status: v.literal('completed'),
    input: JsonObject,
    output: text,
    title: text,
    metadata: JsonObject,
    time: ClosedSpan,
    /** Files among the result, such as an image. */
    attachments: optional(v.array(StoredFile)),
  }),
  v.strictObject({
    status: v.literal('error'),
    input: JsonObject,
    error: text,
    metadata: optional(JsonObject),
    time: ClosedSpan,
  }),
]);

/** A piece of a message, as it is stored and as the wire shows it. */
export const StoredPart = v.variant('type', [
  v.strictObject({
    ...partEntries,
    type: v.literal('text'),
    text,
    synthetic: optional(v.boolean()),
    metadata: optional(JsonObject),
    time: optional(OpenSpan),
  }),
  v.strictObject({ ...partEntries, type: v.literal('reasoning'), text, time: OpenSpan }),
  StoredFile,
  v.strictObject({ ...partEntries, type: v.literal('tool'), callID: text, tool: text, state: StoredToolState }),
  v.strictObject({ ...partEntries, type: v.literal('step-start') }),
  v.strictObject({
    ...partEntries,
    type: v.literal('step-finish'),
    reason: StoredFinish,
    cost: number,
    tokens: SpentTokens,
  }),
  v.strictObject({
    ...partEntries,
    type: v.literal('retry'),
    attempt: number,
    error: StoredError,
    time: v.strictObject({ created: Time }),
  }),
  v.strictObject({ ...partEntries, type: v.literal('compaction'), auto: v.boolean() }),
]);
