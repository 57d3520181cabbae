import * as v from 'valibot';
import type { SessionRecord } from '../agent/schema.ts';
import type { HistoryFingerprint } from './fingerprint.ts';
import type { Owner } from './types.ts';

/** One exchange of a conversation. */
export type StoredExchange = {
  /** The random part of its response's id; empty when there is no such response, or none any more. */
  readonly token: string;
  /** The agent's user message, empty when it is not known. */
  readonly promptID: string;
};

/** What we know of a conversation. All of it but the last three members is kept in its session's metadata. */
export type StoredConversation = {
  readonly sessionID: string;
  readonly owner: Owner;
  readonly name: string;
  /** Whether its client names its conversations: then nothing but the name leads to it. */
  readonly isNamed: boolean;
  /** What was said in it, as its client sees it. */
  readonly fingerprint: HistoryFingerprint;
  /** What the last questions with their answers hash to. */
  readonly tail: readonly string[];
  /** The head before the last answer, if the client left during that, and may know only its beginning. */
  readonly stoppedAt: string | undefined;
  /** Whether the agent's first prompt of it came with a report of what was said before. */
  readonly hasReplay: boolean;
  readonly exchanges: readonly StoredExchange[];
  /** Metadata of others, which stays as it is. */
  readonly otherMetadata: Readonly<Record<string, unknown>>;
  readonly createdAt: number;
  readonly usedAt: number;
  /** Whether nothing can have happened in the session that is not known here. */
  readonly isUpToDate: boolean;
};

const VERSION = 1;
const KEY = 'gatehouse';
/** All conversations are read at once, so each of them is to be small. */
const EXCHANGES_KEPT = 20;
/** As many as were ever written. */
const EXCHANGES_READ = 50;
const Hash = v.pipe(v.string(), v.maxLength(100));
const Name = v.pipe(v.string(), v.maxLength(1000));
const Token = v.pipe(v.string(), v.maxLength(200));

const ConversationRecord = v.object({
  version: v.literal(VERSION),
  owner: Name,
  name: Name,
  isNamed: v.boolean(),
  head: Hash,
  entries: v.pipe(v.number(), v.integer(), v.minValue(0)),
  opening: Hash,
  tail: v.array(Hash),
  stoppedAt: v.optional(Hash),
  hasReplay: v.boolean(),
  /** Token and user message of each exchange. */
  exchanges: v.pipe(v.array(v.tuple([Token, Token])), v.maxLength(EXCHANGES_READ)),
});
type ConversationRecord = v.InferOutput<typeof ConversationRecord>;

/** The metadata of a conversation's session: ours beside that of others. */
export const toSessionMetadata = (kept: StoredConversation): Readonly<Record<string, unknown>> => {
  const { owner, name, isNamed, fingerprint: said, tail, stoppedAt, hasReplay, exchanges } = kept;
  const record: ConversationRecord = {
    version: VERSION,
    owner,
    name,
    isNamed,
    ...said,
    tail: [...tail],
    ...(stoppedAt === undefined ? {} : { stoppedAt }),
    hasReplay,
    exchanges: exchanges.map(({ token, promptID }) => [token, promptID]),
  };
  return { ...kept.otherMetadata, [KEY]: record };
};

/** The conversation that a session is; nothing for a session that is none of ours. */
export const readConversation = ({
  id,
  parentID,
  metadata = {},
  time,
}: SessionRecord): StoredConversation | undefined => {
  const { [KEY]: ours, ...foreign } = metadata;
  const read = v.safeParse(ConversationRecord, ours);
  if (parentID !== undefined || !read.success) return undefined;
  const { owner, name, isNamed, head, entries, opening, tail, stoppedAt, hasReplay, exchanges } = read.output;
  return {
    sessionID: id,
    owner,
    name,
    isNamed,
    fingerprint: { head, entries, opening },
    tail,
    stoppedAt,
    hasReplay,
    exchanges: latestExchanges(exchanges.map(([token, promptID]) => ({ token, promptID }))),
    otherMetadata: foreign,
    createdAt: time.created,
    usedAt: time.updated,
    isUpToDate: false,
  };
};

/** The latest exchanges; older ones are forgotten. */
export const latestExchanges = (exchanges: readonly StoredExchange[]): readonly StoredExchange[] =>
  exchanges.slice(-EXCHANGES_KEPT);

/** The user messages of a conversation that are known. */
export const promptIDsIn = ({ exchanges }: StoredConversation): ReadonlySet<string> =>
  new Set(exchanges.map(({ promptID }) => promptID).filter((id) => id !== ''));
