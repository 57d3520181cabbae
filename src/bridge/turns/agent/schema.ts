import * as v from 'valibot';
import { isRecord } from '../../../core/json.ts';
import { MessageErrorRecord, MessageRecord, PermissionRecord } from '../../agent/schema.ts';
import type { TurnEntry } from '../port.ts';

const Id = v.pipe(v.string(), v.minLength(1), v.maxLength(200));
const Count = v.fallback(v.pipe(v.number(), v.minValue(0)), 0);
const Position = v.pipe(v.number(), v.safeInteger(), v.minValue(0));
const maybePosition = v.fallback(v.optional(Position), undefined);
const Ids = v.fallback(v.array(v.string()), []);
/** As it is: a `v.record` would leave out members such as `constructor`. */
const JsonObject = v.fallback(v.custom<Readonly<Record<string, unknown>>>(isRecord), {});
const maybeText = v.fallback(v.optional(v.string()), undefined);

const Model = v.fallback(
  v.union([
    v.string(),
    v.pipe(
      v.object({ providerID: v.string(), modelID: v.string() }),
      v.transform(({ providerID, modelID }) => `${providerID}/${modelID}`),
    ),
  ]),
  '',
);

/** A turn as the agent server shows it. */
export const TurnViewRecord = v.object({
  id: Id,
  conversationID: Id,
  conversationName: maybeText,
  sessionID: Id,
  promptID: Id,
  status: v.picklist(['queued', 'running', 'waiting', 'calls', 'completed', 'failed', 'aborted', 'continued']),
  model: Model,
  isStored: v.fallback(v.boolean(), true),
  metadata: JsonObject,
  createdMs: Count,
  endedMs: v.fallback(v.optional(v.number()), undefined),
  from: Position,
  until: maybePosition,
  continuedBy: maybeText,
  messageIDs: Ids,
  callIDs: Ids,
  position: Position,
  usage: v.fallback(v.object({ input: Count, output: Count, reasoning: Count, cacheRead: Count, cacheWrite: Count }), {
    input: 0,
    output: 0,
    reasoning: 0,
    cacheRead: 0,
    cacheWrite: 0,
  }),
  finish: maybeText,
  error: v.fallback(v.optional(MessageErrorRecord), undefined),
  structured: v.optional(v.unknown()),
  waiting: v.fallback(v.array(PermissionRecord), []),
  shownIDs: Ids,
  calls: v.fallback(v.array(v.object({ id: v.string(), name: v.string(), arguments: v.string() })), []),
  readTo: maybePosition,
});

const place = { position: Position, messageID: Id, partID: Id };
const call = { callID: Id, name: v.string(), arguments: v.fallback(v.string(), '{}') };
const EntryRecord = v.variant('type', [
  v.object({ type: v.picklist(['text', 'reasoning']), ...place, text: v.string() }),
  v.object({ type: v.picklist(['text-ended', 'reasoning-ended', 'withdrawn']), ...place }),
  v.object({ type: v.literal('call'), ...place, ...call, isForClient: v.fallback(v.boolean(), false) }),
  v.object({
    type: v.literal('call-ended'),
    ...place,
    ...call,
    output: v.fallback(v.string(), ''),
    isError: v.fallback(v.boolean(), false),
  }),
  v.object({
    type: v.literal('step'),
    position: Position,
    messageID: Id,
    finish: maybeText,
    structured: v.optional(v.unknown()),
  }),
]);

const isText = (value: unknown): value is string => typeof value === 'string';

/** One entry; undefined for one that is not understood. Nearly all are texts, which are read without the schema: it costs ten times as much. */
const readEntry = (value: unknown): TurnEntry | undefined => {
  if (!isRecord(value)) return undefined;
  const { type, position, messageID, partID, text } = value;
  const isQuick = (type === 'text' || type === 'reasoning') && isText(text) && isText(messageID) && isText(partID);
  if (isQuick && typeof position === 'number') return { type, position, messageID, partID, text };
  const read = v.safeParse(EntryRecord, value);
  return read.success ? read.output : undefined;
};

/** The entries of a list. Those that are not understood are left out. */
export const readEntries = (value: unknown): readonly TurnEntry[] =>
  Array.isArray(value) ? value.flatMap((entry: unknown) => readEntry(entry) ?? []) : [];

/** The answer to a request that begins or joins a turn. */
export const BegunRecord = v.variant('outcome', [
  v.object({ outcome: v.picklist(['begun', 'joined']), reader: Id, turn: TurnViewRecord }),
  v.object({ outcome: v.literal('waiting'), turn: TurnViewRecord }),
  v.object({ outcome: v.literal('none') }),
]);

/** What there is of a turn's output. */
export const OutputRecord = v.object({
  turn: TurnViewRecord,
  entries: v.pipe(v.unknown(), v.transform(readEntries)),
});

/** A conversation as the agent server shows it. */
export const ConversationRecord = v.object({
  id: Id,
  name: maybeText,
  sessionID: Id,
  lastTurnID: maybeText,
  metadata: JsonObject,
  createdMs: Count,
});

const REFUSAL_CODES = [
  'key_reused',
  'turn_aborted',
  'turn_not_found',
  'turn_running',
  'turn_waiting',
  'conversation_not_found',
  'conversation_full',
  'conversation_busy',
  'conversation_changed',
  'missing_results',
  'unknown_call',
  'no_such_request',
  'not_added',
  'message_not_found',
] as const;

const isList = (value: unknown): value is readonly unknown[] => Array.isArray(value);

/** A refusal by a code of the turns, with the ids or names that it is about, under whichever name. */
export const RefusalRecord = v.object({
  data: v.pipe(
    v.looseObject({ code: v.picklist(REFUSAL_CODES) }),
    v.transform(({ code, ...more }) => {
      const ids = Object.values(more).find(isList) ?? [];
      return { code, ids: ids.filter((id) => typeof id === 'string') };
    }),
  ),
});

/** A page of the messages of a conversation. */
export const MessagePageRecord = v.pipe(
  v.object({ messages: v.array(MessageRecord) }),
  v.transform(({ messages }) => messages),
);

/** The messages that were added to a conversation. */
export const AddedRecord = v.object({ messageIDs: Ids });
