import * as v from 'valibot';
import { isRecord } from '../../core/json.ts';
import { type IdKind, isIdOf } from './ids.ts';
import type { Message, MessageError, Part, Session, Tokens, ToolState } from './types.ts';

/** An id as this server makes them. */
export const IdOf = (kind: IdKind) =>
  v.pipe(
    v.string(),
    v.check((text) => isIdOf(kind, text), `expected an id of a ${kind}`),
  );

const Time = v.pipe(v.number(), v.safeInteger('expected whole milliseconds'), v.minValue(0, 'expected a time'));
/** valibot's own record leaves names such as `constructor` out. */
const Named = v.custom<Readonly<Record<string, unknown>>>(isRecord, 'expected an object');
const Switches = v.custom<Readonly<Record<string, boolean>>>(
  (value) => isRecord(value) && Object.values(value).every((isOn) => typeof isOn === 'boolean'),
  'expected an object of true and false',
);
const DataUrl = v.pipe(v.string(), v.startsWith('data:', 'expected a data: URL'));
const text = v.string();
const number = v.number();
const maybe = v.exactOptional;

const tokenEntries = {
  input: number,
  output: number,
  reasoning: number,
  cache: v.strictObject({ read: number, write: number }),
};
const SessionTokens: v.GenericSchema<Tokens, Tokens> = v.strictObject(tokenEntries);
const SpentTokens = v.strictObject({ ...tokenEntries, total: maybe(number) });
const StoredRule = v.strictObject({ permission: text, pattern: text, action: v.picklist(['allow', 'ask', 'deny']) });

/** A session as it is stored. */
export const StoredSession: v.GenericSchema<Session, Session> = v.strictObject({
  id: IdOf('session'),
  slug: text,
  projectID: text,
  directory: text,
  parentID: maybe(IdOf('session')),
  title: text,
  agent: maybe(text),
  model: maybe(v.strictObject({ providerID: text, id: text, variant: maybe(text) })),
  version: text,
  metadata: maybe(Named),
  permission: maybe(v.array(StoredRule)),
  revert: maybe(v.strictObject({ messageID: IdOf('message'), partID: maybe(IdOf('part')) })),
  cost: number,
  tokens: SessionTokens,
  time: v.strictObject({ created: Time, updated: Time, compacting: maybe(Time), archived: maybe(Time) }),
});

const saying = v.strictObject({ message: text });
const StoredError: v.GenericSchema<MessageError, MessageError> = v.variant('name', [
  v.strictObject({ name: v.literal('ProviderAuthError'), data: v.strictObject({ providerID: text, message: text }) }),
  v.strictObject({ name: v.literal('UnknownError'), data: v.strictObject({ message: text, ref: maybe(text) }) }),
  v.strictObject({ name: v.literal('MessageOutputLengthError'), data: v.strictObject({}) }),
  v.strictObject({ name: v.literal('MessageAbortedError'), data: saying }),
  v.strictObject({ name: v.literal('ContextOverflowError'), data: saying }),
  v.strictObject({ name: v.literal('ContentFilterError'), data: saying }),
  v.strictObject({
    name: v.literal('APIError'),
    data: v.strictObject({ message: text, statusCode: maybe(number), isRetryable: v.boolean() }),
  }),
]);
const StoredFinish = v.picklist(['stop', 'length', 'tool-calls', 'content-filter', 'error', 'other', 'unknown']);

const messageEntries = { id: IdOf('message'), sessionID: IdOf('session'), agent: text };

/** A message as it is stored, without its parts. */
export const StoredMessage: v.GenericSchema<Message, Message> = v.variant('role', [
  v.strictObject({
    ...messageEntries,
    role: v.literal('user'),
    time: v.strictObject({ created: Time }),
    model: v.strictObject({ providerID: text, modelID: text, variant: maybe(text) }),
    system: maybe(text),
    tools: maybe(Switches),
  }),
  v.strictObject({
    ...messageEntries,
    role: v.literal('assistant'),
    parentID: IdOf('message'),
    mode: text,
    modelID: text,
    providerID: text,
    variant: maybe(text),
    path: v.strictObject({ cwd: text, root: text }),
    time: v.strictObject({ created: Time, completed: maybe(Time) }),
    cost: number,
    tokens: SpentTokens,
    finish: maybe(StoredFinish),
    error: maybe(StoredError),
    summary: maybe(v.boolean()),
  }),
]);

const Lasting = v.strictObject({ start: Time, end: Time });
const Spoken = v.strictObject({ start: Time, end: maybe(Time) });
const StoredToolState: v.GenericSchema<ToolState, ToolState> = v.variant('status', [
  v.strictObject({ status: v.literal('pending'), input: Named, raw: text }),
  v.strictObject({
    status: v.literal('running'),
    input: Named,
    title: maybe(text),
    metadata: maybe(Named),
    time: v.strictObject({ start: Time }),
  }),
  v.strictObject({
    status: v.literal('completed'),
    input: Named,
    output: text,
    title: text,
    metadata: Named,
    time: Lasting,
  }),
  v.strictObject({ status: v.literal('error'), input: Named, error: text, metadata: maybe(Named), time: Lasting }),
]);

const partEntries = { id: IdOf('part'), sessionID: IdOf('session'), messageID: IdOf('message') };

/** A part as it is stored. */
export const StoredPart: v.GenericSchema<Part, Part> = v.variant('type', [
  v.strictObject({
    ...partEntries,
    type: v.literal('text'),
    text,
    synthetic: maybe(v.boolean()),
    time: maybe(Spoken),
  }),
  v.strictObject({ ...partEntries, type: v.literal('reasoning'), text, time: Spoken }),
  v.strictObject({ ...partEntries, type: v.literal('file'), mime: text, filename: maybe(text), url: DataUrl }),
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
