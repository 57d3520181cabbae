import * as v from 'valibot';
import { isRecord } from '../../core/json.ts';
import { GivenMessage, GivenResult, GivenUser } from '../protocol/given-messages.ts';
import { bytesAsJson } from '../protocol/part-schemas.ts';
import { PromptBody } from '../protocol/request-schemas.ts';
import { TITLE_CHARS } from '../protocol/title.ts';
import { NAME_CHARS, TextUpTo } from '../protocol/tool-schemas.ts';

const HISTORY_LIMIT = 5000;
const INPUT_LIMIT = 256;
const NAME_LIMIT = 512;
const LONGEST_ABORT_MS = 3_600_000;
const ABORT_AFTER_MS = 10_000;
const METADATA_BYTES = 16 * 1024;

const Name = v.pipe(v.string(), v.minLength(1), v.maxLength(NAME_LIMIT));
const Metadata = v.pipe(
  // A record would leave out members with names such as __proto__.
  v.custom<Readonly<Record<string, unknown>>>(isRecord, 'expected an object'),
  v.check((value) => bytesAsJson(value) <= METADATA_BYTES, `expected an object of at most ${METADATA_BYTES} bytes`),
);

const GivenMessages = v.pipe(v.array(GivenMessage), v.maxLength(HISTORY_LIMIT));

const Decisions = v.pipe(
  v.array(
    v.object({
      requestID: v.string(),
      reply: v.picklist(['once', 'reject']),
      message: v.exactOptional(TextUpTo(4000)),
    }),
  ),
  v.maxLength(INPUT_LIMIT),
);
const by = v.optional(TextUpTo(128));

const { agent, model, variant, system, format, clientTools, tools } = PromptBody.entries;
/** Begins a turn, or joins one that an equal request has begun. */
export const TurnBody = v.object({
  conversation: v.optional(
    v.union([v.object({ id: v.string() }), v.object({ name: Name }), v.object({ after: v.string() })]),
  ),
  history: v.optional(GivenMessages, []),
  isAppended: v.optional(v.boolean(), false),
  isNew: v.optional(v.boolean(), false),
  isCompared: v.optional(v.boolean(), false),
  ifWaiting: v.optional(v.picklist(['abort', 'refuse']), 'abort'),
  joinOnly: v.optional(v.boolean(), false),
  input: v.optional(v.pipe(v.array(v.variant('role', [GivenUser, GivenResult])), v.maxLength(INPUT_LIMIT)), []),
  decisions: v.optional(Decisions, []),
  ...{ agent, model, variant, system, format, clientTools, tools, by },
  title: v.optional(TextUpTo(TITLE_CHARS)),
  key: v.optional(v.pipe(v.string(), v.minLength(1), v.maxLength(256))),
  digest: v.optional(v.pipe(v.string(), v.minLength(1), v.maxLength(128))),
  isRetry: v.optional(v.boolean(), false),
  abortAfterMs: v.optional(
    v.nullable(v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(LONGEST_ABORT_MS))),
    ABORT_AFTER_MS,
  ),
  isStored: v.optional(v.boolean(), true),
  metadata: v.optional(Metadata, {}),
  stream: v.optional(v.boolean(), false),
});
export type TurnBody = v.InferOutput<typeof TurnBody>;

/** Says that a reader has left, or has had everything up to a position. */
export const LeaveBody = v.object({
  reader: v.string(),
  readTo: v.optional(v.pipe(v.number(), v.safeInteger(), v.minValue(0))),
  shownIDs: v.optional(v.pipe(v.array(TextUpTo(NAME_CHARS)), v.maxLength(INPUT_LIMIT)), []),
});

/** Replies to permission requests of a turn. */
export const DecisionsBody = v.object({ decisions: v.pipe(Decisions, v.minLength(1)), by });
export type DecisionsBody = v.InferOutput<typeof DecisionsBody>;

/** Creates a conversation. */
export const ConversationBody = v.object({
  name: v.optional(Name),
  metadata: v.optional(Metadata, {}),
  messages: v.optional(GivenMessages, []),
});
export const ConversationChangeBody = v.object({ metadata: Metadata });
/** Adds messages to a conversation. */
export const MessagesBody = v.object({ messages: v.pipe(GivenMessages, v.minLength(1)) });
