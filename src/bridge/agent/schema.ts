import * as v from 'valibot';
import { GATEHOUSE_METADATA_KEY } from '../../core/http/conversation-metadata.ts';
import { isRecord } from '../../core/json.ts';

const ID_LIMIT = 200;
const Id = v.pipe(v.string(), v.minLength(1), v.maxLength(ID_LIMIT));
const Count = v.fallback(v.pipe(v.number(), v.minValue(0)), 0);

/** What we read of a session of the agent (OpenCode 1.x); everything else is left alone. */
export const SessionRecord = v.object({
  id: Id,
  parentID: v.optional(v.string()),
  metadata: v.optional(v.record(v.string(), v.unknown())),
  time: v.object({ created: v.number(), updated: v.number() }),
});
export type SessionRecord = v.InferOutput<typeof SessionRecord>;

const Tokens = v.object({
  input: Count,
  output: Count,
  reasoning: Count,
  cache: v.fallback(v.object({ read: Count, write: Count }), { read: 0, write: 0 }),
});

export const MessageErrorRecord = v.object({
  name: v.string(),
  data: v.fallback(
    v.object({
      message: v.optional(v.string()),
      statusCode: v.optional(v.number()),
      isRetryable: v.optional(v.boolean()),
    }),
    {},
  ),
});
export type MessageErrorRecord = v.InferOutput<typeof MessageErrorRecord>;

/** A message of the agent without its parts. */
export const MessageInfo = v.variant('role', [
  v.object({
    id: Id,
    sessionID: Id,
    role: v.literal('user'),
    /** `resumed`: when its turn last went on with results of its client; absent at OpenCode. */
    time: v.fallback(v.optional(v.object({ created: v.number(), resumed: v.optional(v.number()) })), undefined),
    /** Where its answer has to be one JSON value. */
    format: v.fallback(v.optional(v.object({ type: v.string() })), undefined),
  }),
  v.object({
    id: Id,
    sessionID: Id,
    role: v.literal('assistant'),
    parentID: v.string(),
    modelID: v.fallback(v.string(), ''),
    providerID: v.fallback(v.string(), ''),
    time: v.object({ created: v.number(), completed: v.optional(v.number()) }),
    tokens: v.fallback(v.optional(Tokens), undefined),
    finish: v.optional(v.string()),
    /** The value where the answer had to be one. */
    structured: v.optional(v.unknown()),
    error: v.optional(MessageErrorRecord),
    summary: v.fallback(v.optional(v.boolean()), undefined),
  }),
]);
export type MessageInfo = v.InferOutput<typeof MessageInfo>;
export type AssistantInfo = Extract<MessageInfo, { readonly role: 'assistant' }>;

const PART_ADDRESS = { id: Id, sessionID: Id, messageID: Id };
/** As it is: a `v.record` would leave out members such as `constructor`. */
const Input = v.fallback(v.custom<Readonly<Record<string, unknown>>>(isRecord), {});

const Flag = v.optional(v.boolean());
/**
 * What our agent says of a call besides. `withdrawn`: its attempt was given up. `clientTool`: the client makes it. `arguments`: as the
 * model has written them, where the parsed ones may have other numbers.
 */
const CallMetadata = v.fallback(
  v.optional(v.object({ withdrawn: Flag, clientTool: Flag, arguments: v.optional(v.string()) })),
  undefined,
);

/** What a bridge has attached to its prompt at an OpenCode server, by which it knows it again. */
const PromptMetadata = v.fallback(
  v.optional(v.object({ [GATEHOUSE_METADATA_KEY]: v.object({ token: v.string() }) })),
  undefined,
);

/** The parts that a client of ours is shown something of; all others come as `other`. */
export const PartRecord = v.union([
  v.object({
    ...PART_ADDRESS,
    type: v.picklist(['text', 'reasoning']),
    text: v.string(),
    synthetic: v.fallback(v.optional(v.boolean()), undefined),
    ignored: v.fallback(v.optional(v.boolean()), undefined),
    metadata: PromptMetadata,
    time: v.fallback(v.optional(v.object({ end: v.optional(v.number()) })), undefined),
  }),
  v.object({
    ...PART_ADDRESS,
    type: v.literal('file'),
    mime: v.string(),
    filename: v.fallback(v.optional(v.string()), undefined),
    url: v.string(),
  }),
  v.object({
    ...PART_ADDRESS,
    type: v.literal('tool'),
    callID: Id,
    tool: v.string(),
    state: v.variant('status', [
      v.object({ status: v.literal('pending'), input: Input }),
      v.object({ status: v.literal('running'), input: Input, metadata: CallMetadata }),
      v.object({
        status: v.literal('completed'),
        input: Input,
        output: v.fallback(v.string(), ''),
        metadata: CallMetadata,
      }),
      v.object({
        status: v.literal('error'),
        input: Input,
        error: v.fallback(v.string(), ''),
        metadata: CallMetadata,
      }),
    ]),
  }),
  v.pipe(
    v.object(PART_ADDRESS),
    v.transform((placed) => ({ ...placed, type: 'other' as const })),
  ),
]);
export type PartRecord = v.InferOutput<typeof PartRecord>;

/** A message with its parts, as the agent answers and lists them. */
export const MessageRecord = v.object({ info: MessageInfo, parts: v.array(PartRecord) });
export type MessageRecord = v.InferOutput<typeof MessageRecord>;

/** A question of the agent (`GET /permission`, `permission.asked`). */
export const PermissionRecord = v.object({
  // It goes into a header and into the words of an answer.
  id: v.pipe(v.string(), v.regex(/^\w{1,200}$/)),
  sessionID: Id,
  permission: v.string(),
  metadata: v.fallback(v.record(v.string(), v.unknown()), {}),
  /** The call that it is about. */
  tool: v.fallback(v.optional(v.object({ messageID: Id, callID: Id })), undefined),
});
export type PermissionRecord = v.InferOutput<typeof PermissionRecord>;

const SessionStatus = v.object({ type: v.string() });

/** The events that matter here. All others are read as nothing. */
export const AgentEventRecord = v.variant('type', [
  v.object({
    type: v.picklist(['session.created', 'session.updated', 'session.deleted']),
    properties: v.object({ info: SessionRecord }),
  }),
  v.object({
    type: v.literal('session.status'),
    properties: v.object({ sessionID: Id, status: SessionStatus }),
  }),
  v.object({ type: v.literal('session.idle'), properties: v.object({ sessionID: Id }) }),
  v.object({ type: v.literal('message.updated'), properties: v.object({ info: MessageInfo }) }),
  v.object({ type: v.literal('message.part.updated'), properties: v.object({ part: PartRecord }) }),
  v.object({
    type: v.literal('message.part.delta'),
    properties: v.object({ sessionID: Id, messageID: Id, partID: Id, field: v.string(), delta: v.string() }),
  }),
  v.object({ type: v.literal('permission.asked'), properties: PermissionRecord }),
  v.object({
    type: v.literal('permission.replied'),
    properties: v.object({ sessionID: Id, requestID: v.string() }),
  }),
  v.object({ type: v.literal('question.asked'), properties: v.object({ id: Id, sessionID: Id }) }),
]);
export type AgentEventRecord = v.InferOutput<typeof AgentEventRecord>;

type DeltaRecord = Extract<AgentEventRecord, { readonly type: 'message.part.delta' }>;

const isId = (value: unknown): value is string =>
  typeof value === 'string' && value.length > 0 && value.length <= ID_LIMIT;
const isText = (value: unknown): value is string => typeof value === 'string';

const readDelta = (properties: unknown): DeltaRecord | undefined => {
  if (!isRecord(properties)) return undefined;
  const { sessionID, messageID, partID, field, delta } = properties;
  if (!isId(sessionID) || !isId(messageID) || !isId(partID) || !isText(field) || !isText(delta)) return undefined;
  return { type: 'message.part.delta', properties: { sessionID, messageID, partID, field, delta } };
};

/**
 * An event as `AgentEventRecord` reads it; undefined where it does not fit. Nearly all events are deltas of a text: they are read
 * without the schema, which costs ten times as much and says the same.
 */
export const readAgentEvent = (value: Readonly<Record<string, unknown>>): AgentEventRecord | undefined => {
  if (value.type === 'message.part.delta') return readDelta(value.properties);
  const read = v.safeParse(AgentEventRecord, value);
  return read.success ? read.output : undefined;
};

/** The session that an event belongs to. */
export const sessionOf = (event: AgentEventRecord): string => {
  switch (event.type) {
    case 'session.created':
    case 'session.updated':
    case 'session.deleted':
      return event.properties.info.id;
    case 'message.updated':
      return event.properties.info.sessionID;
    case 'message.part.updated':
      return event.properties.part.sessionID;
    default:
      return event.properties.sessionID;
  }
};
