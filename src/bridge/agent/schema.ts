import * as v from 'valibot';
import { GATEHOUSE_METADATA_KEY } from '../../core/http/agent-api.ts';
import { isRecord } from '../../core/json.ts';

/** An id of the agent. */
export const Id = v.pipe(v.string(), v.minLength(1), v.maxLength(200));
/** A count; none where it is missing or malformed. */
export const Count = v.fallback(v.pipe(v.number(), v.minValue(0)), 0);

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
  v.object({ id: Id, sessionID: Id, role: v.literal('user') }),
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
