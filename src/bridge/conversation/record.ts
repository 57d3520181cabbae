import * as v from 'valibot';
import { BRIDGE_METADATA_KEY, metadataRevision } from '../../core/http/metadata-revision.ts';
import { isRecord } from '../../core/json.ts';
import type { SessionRecord } from '../agent/schema.ts';
import type { HistoryFingerprint } from './fingerprint.ts';
import { responseTokenOf } from './response-id.ts';
import type { Owner, PausedTurn, RequestMark } from './types.ts';

/** A stored prompt with its answer. */
export type StoredExchange = {
  /** The random part of its response id. Empty when there is no such response, or it was deleted. */
  readonly token: string;
  /** The id of the agent's user message. Empty when it is not known. */
  readonly promptID: string;
  /** Whether it was made in the background. */
  readonly isBackground?: boolean | undefined;
  /** Where it ended, if it asked for an approval. */
  readonly asked?: PausedTurn | undefined;
};

/** What the bridge knows of a conversation. All but the last four members are stored in its session's metadata. */
export type StoredConversation = {
  readonly sessionID: string;
  readonly owner: Owner;
  readonly name: string;
  /** What its client has attached to it. */
  readonly clientMetadata?: ClientMetadata | undefined;
  /** Whether its client names its conversations. Then it is found by its name only. */
  readonly isNamed: boolean;
  /** Of its history as the client knows it. */
  readonly fingerprint: HistoryFingerprint;
  /** Hashes of the last prompts with their answers. */
  readonly tail: readonly string[];
  /** The head before the last answer, if the client disconnected during that and may know only its beginning. */
  readonly stoppedAt: string | undefined;
  /** Whether the first prompt at the agent came with a replay of earlier messages. */
  readonly hasReplay: boolean;
  readonly exchanges: readonly StoredExchange[];
  /** The last request that was sent to the agent, as soon as it is. */
  readonly request?: RequestMark | undefined;
  /** The token of the answer that a bridge gives in it now, this one or another. */
  readonly claim: string | undefined;
  /** Whether a bridge had the claim last and recorded nothing, though the agent may have got its prompt. */
  readonly isUnsure?: boolean | undefined;
  /** Where the last answer ended, if its turn went on. */
  readonly paused?: PausedTurn | undefined;
  /** How often the record was written. Each write names the one that it replaces. */
  readonly revision: number;
  /** Metadata of other programs, which is written back unchanged. */
  readonly otherMetadata: Readonly<Record<string, unknown>>;
  readonly createdAt: number;
  readonly usedAt: number;
  /** Whether nothing can have happened in the session that is not known here. */
  readonly isUpToDate: boolean;
};

/** Names and texts of a client, as OpenAI limits them. */
export type ClientMetadata = Readonly<Record<string, string>>;

const isClientMetadata = (given: unknown): boolean =>
  isRecord(given) && Object.values(given).every((text) => typeof text === 'string');

const VERSION = 1;
/** The trait of an exchange that was made in the background. */
const BACKGROUND = 'background';
/** All conversations are read at once, so each of them has to be small. */
const EXCHANGES_STORED = 20;
const APPROVALS_STORED = 50;
/** Of those that were decided, of all exchanges. The agent server takes records of up to 64 KiB. */
const DECIDED_STORED = 100;
/** The most that any version has stored. */
const EXCHANGES_READ = 50;
const Hash = v.pipe(v.string(), v.maxLength(100));
const Name = v.pipe(v.string(), v.maxLength(1000));
const TOKEN_CHARS = 200;
const Token = v.pipe(v.string(), v.maxLength(TOKEN_CHARS));
const Count = v.pipe(v.number(), v.integer(), v.minValue(0));
const Time = v.pipe(v.number(), v.minValue(0));
/** No client is behind more bridges. */
const READERS_LIMIT = 100;

const PausedRecord = v.object({
  promptID: Token,
  approvalIDs: v.pipe(v.array(Token), v.maxLength(APPROVALS_STORED)),
  callIDs: v.optional(v.pipe(v.array(Token), v.maxLength(APPROVALS_STORED))),
  items: Count,
  afterMessageID: v.optional(Token),
  waiting: v.optional(v.pipe(v.array(Token), v.maxLength(APPROVALS_STORED))),
  usage: v.object({
    prompt: Count,
    cached: Count,
    // Records of earlier versions have none.
    cacheWritten: v.optional(Count, 0),
    completion: Count,
    reasoning: Count,
  }),
});

const ConversationRecord = v.object({
  version: v.literal(VERSION),
  owner: Name,
  name: Name,
  // `v.record` leaves out names that every object has.
  clientMetadata: v.optional(v.custom<ClientMetadata>(isClientMetadata)),
  isNamed: v.boolean(),
  head: Hash,
  entries: Count,
  opening: Hash,
  tail: v.array(Hash),
  stoppedAt: v.optional(Hash),
  hasReplay: v.boolean(),
  /** Token and prompt id of each exchange, and what else is true of it. */
  exchanges: v.pipe(v.array(v.tupleWithRest([Token, Token], Token)), v.maxLength(EXCHANGES_READ)),
  request: v.optional(
    v.object({
      digest: Hash,
      keyDigest: v.optional(Hash),
      token: Token,
      createdSeconds: v.pipe(v.number(), v.integer()),
      promptID: v.optional(Token),
      isUnread: v.optional(v.boolean()),
      readers: v.optional(v.pipe(v.array(Token), v.maxLength(READERS_LIMIT))),
      left: v.optional(v.object({ by: Token, atMs: Time })),
      failedAtMs: v.optional(Time),
      next: v.optional(Hash),
      isBackground: v.optional(v.boolean()),
    }),
  ),
  claim: v.optional(Token),
  isUnsure: v.optional(v.boolean()),
  paused: v.optional(PausedRecord),
  /** Those of the exchanges that asked for an approval, by their index. */
  asked: v.optional(v.pipe(v.array(v.tuple([Count, PausedRecord])), v.maxLength(EXCHANGES_READ))),
});
type ConversationRecord = v.InferOutput<typeof ConversationRecord>;

/** An agent asks for the calls of one step together, so there are few. */
const toPausedRecord = (
  { approvalIDs, callIDs, waiting, ...position }: PausedTurn,
  limit = APPROVALS_STORED,
): NonNullable<ConversationRecord['paused']> => ({
  ...position,
  approvalIDs: approvalIDs.slice(0, limit),
  ...(callIDs && { callIDs: callIDs.slice(0, limit).map((id) => (id.length > TOKEN_CHARS ? '' : id)) }),
  ...(waiting && { waiting: waiting.slice(0, limit) }),
});

/** Where exchanges ended that asked for approvals, with the ids of the newest ones. */
const toAskedRecords = (exchanges: readonly StoredExchange[]): NonNullable<ConversationRecord['asked']> => {
  let left = DECIDED_STORED;
  const records = exchanges.map(({ asked }, index) => ({ asked, index })).toReversed();
  return records.flatMap(({ asked, index }) => {
    const record = asked && toPausedRecord(asked, Math.min(APPROVALS_STORED, left));
    left -= record?.approvalIDs.length ?? 0;
    return record === undefined ? [] : [[index, record]];
  });
};

/** The metadata to store with a conversation's session, including that of other programs. */
export const toSessionMetadata = (conversation: StoredConversation): Readonly<Record<string, unknown>> => {
  const { owner, name, isNamed, fingerprint, tail, stoppedAt, hasReplay, exchanges, request } = conversation;
  const { claim, isUnsure, paused, revision, clientMetadata } = conversation;
  const asked = toAskedRecords(exchanges);
  const record: ConversationRecord & { readonly revision: number } = {
    version: VERSION,
    owner,
    name,
    ...(clientMetadata === undefined ? {} : { clientMetadata: { ...clientMetadata } }),
    isNamed,
    ...fingerprint,
    tail: [...tail],
    ...(stoppedAt === undefined ? {} : { stoppedAt }),
    hasReplay,
    exchanges: exchanges.map(({ token, promptID, isBackground }) => [
      token,
      promptID,
      ...(isBackground === true ? [BACKGROUND] : []),
    ]),
    ...(request === undefined ? {} : { request: { ...request, readers: [...(request.readers ?? [])] } }),
    ...(claim === undefined ? {} : { claim }),
    ...(isUnsure === true ? { isUnsure } : {}),
    ...(paused === undefined ? {} : { paused: toPausedRecord(paused) }),
    ...(asked.length === 0 ? {} : { asked }),
    revision,
  };
  return { ...conversation.otherMetadata, [BRIDGE_METADATA_KEY]: record };
};

/** The conversation that a session holds; undefined for a session that the bridge did not create. */
export const readConversation = (session: SessionRecord): StoredConversation | undefined => {
  const { id, parentID, metadata = {}, time } = session;
  const { [BRIDGE_METADATA_KEY]: ours, ...otherMetadata } = metadata;
  const read = v.safeParse(ConversationRecord, ours);
  if (parentID !== undefined || !read.success) return undefined;
  const { owner, name, isNamed, head, entries, opening, tail, stoppedAt, hasReplay, exchanges, request } = read.output;
  const { claim, isUnsure, paused, clientMetadata } = read.output;
  const asked = new Map(read.output.asked);
  return {
    sessionID: id,
    owner,
    name,
    clientMetadata,
    isNamed,
    fingerprint: { head, entries, opening },
    tail,
    stoppedAt,
    hasReplay,
    exchanges: latestExchanges(
      exchanges.map(([token, promptID, ...traits], index) => ({
        token,
        promptID,
        ...(traits.includes(BACKGROUND) ? { isBackground: true } : {}),
        ...(asked.has(index) ? { asked: asked.get(index) } : {}),
      })),
    ),
    request,
    claim,
    isUnsure,
    paused,
    // As the agent counts it, whatever another program has written there.
    revision: metadataRevision(metadata),
    otherMetadata,
    createdAt: time.created,
    usedAt: time.updated,
    isUpToDate: false,
  };
};

/** The exchanges to store. Older ones are dropped. */
export const latestExchanges = (exchanges: readonly StoredExchange[]): readonly StoredExchange[] =>
  exchanges.slice(-EXCHANGES_STORED);

/** What was recorded of a request's answer. */
export const exchangeOf = (
  { exchanges }: StoredConversation,
  { token }: Pick<RequestMark, 'token'>,
): StoredExchange | undefined => exchanges.find((exchange) => exchange.token === responseTokenOf(token));

/** Whether a client has all of the answer of a request, or had what came of it when it ended. */
export const isAnswered = (conversation: StoredConversation, mark: RequestMark): boolean => {
  const { isUnread = exchangeOf(conversation, mark) === undefined } = mark;
  return !isUnread;
};

/** The ids of a conversation's known user messages. */
export const promptIDsIn = ({ exchanges }: StoredConversation): ReadonlySet<string> =>
  new Set(exchanges.map(({ promptID }) => promptID).filter((id) => id !== ''));
