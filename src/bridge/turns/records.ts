import * as v from 'valibot';
import { isRecord } from '../../core/json.ts';
import { Count, Id, MessageErrorRecord, MessageRecord, PermissionRecord } from '../agent/schema.ts';
import { TURN_REFUSAL_CODES } from '../errors.ts';

const Position = v.pipe(v.number(), v.safeInteger(), v.minValue(0));
const maybePosition = v.fallback(v.optional(Position), undefined);
const Ids = v.fallback(v.array(v.string()), []);
/** As it is: a `v.record` would leave out members such as `constructor`. */
const JsonObject = v.fallback(v.custom<Readonly<Record<string, unknown>>>(isRecord), {});
const maybeText = v.fallback(v.optional(v.string()), undefined);

/** Of a turn that has used none. */
export const NO_TURN_USAGE = { input: 0, output: 0, reasoning: 0, cacheRead: 0, cacheWrite: 0 } as const;
/** Tokens of a turn. `input` does not include those of a cache. */
export const UsageRecord = v.object({
  input: Count,
  output: Count,
  reasoning: Count,
  cacheRead: Count,
  cacheWrite: Count,
});

/** A call in an answer. `arguments` is JSON. */
export const CallRecord = v.object({ id: v.string(), name: v.string(), arguments: v.string() });

const ModelName = v.union([
  v.string(),
  v.pipe(
    v.object({ providerID: v.string(), modelID: v.string() }),
    v.transform(({ providerID, modelID }) => `${providerID}/${modelID}`),
  ),
]);

/** A turn as it is now. Positions are those of its entries. */
export const TurnViewRecord = v.object({
  id: Id,
  conversationID: Id,
  conversationName: maybeText,
  sessionID: Id,
  /** The user message that it answers, or a part of whose answer it is. */
  promptID: Id,
  /**
   * `waiting`: a permission request is open. `calls`: it has ended with calls that the client makes. `continued`: a later turn goes on
   * where this one has ended.
   */
  status: v.picklist(['queued', 'running', 'waiting', 'calls', 'completed', 'failed', 'aborted', 'continued']),
  /** `providerID/modelID`; empty where it is not known. */
  model: v.fallback(ModelName, ''),
  isStored: v.fallback(v.boolean(), true),
  metadata: JsonObject,
  createdMs: Count,
  endedMs: v.fallback(v.optional(v.number()), undefined),
  /** The position after which its entries begin, and at which they end where a later turn continues it. */
  from: Position,
  until: maybePosition,
  continuedBy: maybeText,
  /** The messages that its request has stored, in their order, and the calls whose results it brought. */
  messageIDs: Ids,
  callIDs: Ids,
  /** Of the last entry so far. */
  position: Position,
  usage: v.fallback(UsageRecord, NO_TURN_USAGE),
  /** Why the last step ended, such as `stop`, `length` or `content-filter`. */
  finish: maybeText,
  error: v.fallback(v.optional(MessageErrorRecord), undefined),
  /** The value where the answer had to be one. */
  structured: v.optional(v.unknown()),
  /** The permission requests that are open in its session and below it, the oldest first. */
  waiting: v.fallback(v.array(PermissionRecord), []),
  /** Those of `waiting` that a reader of the turn was shown. */
  shownIDs: Ids,
  /** The calls that wait for their results by the client. */
  calls: v.fallback(v.array(CallRecord), []),
  /** The position up to which a reader has had it; undefined until one has had all that there was at its end. */
  readTo: maybePosition,
});

const place = { position: Position, messageID: Id, partID: Id };
const call = { callID: Id, name: v.string(), arguments: v.fallback(v.string(), '{}') };
/** A piece of the output of a turn. Positions ascend, and the same entries have the same positions whenever they are read. */
export const EntryRecord = v.variant('type', [
  /** More of a text. No piece is empty. */
  v.object({ type: v.picklist(['text', 'reasoning']), ...place, text: v.string() }),
  /** `withdrawn`: what was sent of this text does not count, as an attempt of the model has failed. */
  v.object({ type: v.picklist(['text-ended', 'reasoning-ended', 'withdrawn']), ...place }),
  /** A call with all of its arguments, as JSON. */
  v.object({ type: v.literal('call'), ...place, ...call, isForClient: v.fallback(v.boolean(), false) }),
  /** The result of a call that the agent has made. */
  v.object({
    ...{ type: v.literal('call-ended'), ...place, ...call },
    output: v.fallback(v.string(), ''),
    isError: v.fallback(v.boolean(), false),
  }),
  /** The end of a step, after its calls. `structured`: the value where the answer had to be one. */
  v.object({
    ...{ type: v.literal('step'), position: Position, messageID: Id, finish: maybeText },
    structured: v.optional(v.unknown()),
  }),
]);
type Entry = v.InferOutput<typeof EntryRecord>;

const isText = (value: unknown): value is string => typeof value === 'string';

/** One entry; undefined for one that is not understood. Nearly all are texts, which are read without the schema: it costs ten times as much. */
const readEntry = (value: unknown): Entry | undefined => {
  if (!isRecord(value)) return undefined;
  const { type, position, messageID, partID, text } = value;
  const isQuick = (type === 'text' || type === 'reasoning') && isText(text) && isText(messageID) && isText(partID);
  if (isQuick && typeof position === 'number') return { type, position, messageID, partID, text };
  const read = v.safeParse(EntryRecord, value);
  return read.success ? read.output : undefined;
};

/** The entries of a list. Those that are not understood are left out. */
export const readEntries = (value: unknown): readonly Entry[] =>
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

/** A conversation of a client. */
export const ConversationRecord = v.object({
  id: Id,
  name: maybeText,
  sessionID: Id,
  lastTurnID: maybeText,
  metadata: JsonObject,
  createdMs: Count,
});

const isList = (value: unknown): value is readonly unknown[] => Array.isArray(value);

/** A refusal by a code of the turns, with the ids or names that it is about, under whichever name. */
export const RefusalRecord = v.object({
  data: v.pipe(
    v.looseObject({ code: v.picklist(TURN_REFUSAL_CODES) }),
    v.transform(({ code, ...more }) => {
      const ids = Object.values(more).find(isList) ?? [];
      return { code, ids: ids.filter((id) => typeof id === 'string') };
    }),
  ),
});

/** A page of the messages of a conversation. */
export const MessagePageRecord = v.object({ messages: v.array(MessageRecord) });

/** The messages that were added to a conversation. */
export const AddedRecord = v.object({ messageIDs: Ids });
