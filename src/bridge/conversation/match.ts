import type { HistoryMessage } from '../request.ts';
import {
  appendMessages,
  type Digest,
  EMPTY_FINGERPRINT,
  extendFingerprint,
  extendTail,
  type HistoryFingerprint,
  hashTail,
  normalizeMessages,
} from './fingerprint.ts';
import { latestExchanges, type StoredConversation } from './record.ts';
import { readResponseID } from './response-id.ts';
import type { FinishedExchange } from './types.ts';

/** What an exchange is added to. The last entry stands apart: if it is the user's, more of the user's words go into it. */
export type HistoryBase = {
  readonly fingerprint: HistoryFingerprint;
  readonly last: readonly HistoryMessage[];
  readonly tail: readonly string[];
};

/** What was said as its client tells it, with all that is ever asked of it: it may be long, and is gone through once. */
export type ClientHistory = {
  readonly messages: readonly HistoryMessage[];
  readonly entries: readonly HistoryMessage[];
  /** Where a conversation stands in which this was said. */
  readonly fingerprint: HistoryFingerprint;
  readonly base: HistoryBase;
};

export const readHistory = (said: readonly HistoryMessage[], digest: Digest): ClientHistory => {
  const entries = normalizeMessages(said);
  const last = entries.slice(-1);
  const beforeLast = extendFingerprint(EMPTY_FINGERPRINT, entries.slice(0, -1), digest);
  const footing = { fingerprint: beforeLast, last, tail: hashTail(entries, digest) };
  return { messages: said, entries, fingerprint: extendFingerprint(beforeLast, last, digest), base: footing };
};

/** A conversation as it is known here, for a client that does not tell what was said. */
export const storedBase = ({ fingerprint: said, tail }: StoredConversation): HistoryBase => ({
  fingerprint: said,
  last: [],
  tail,
});

/** Whether a history is that of a conversation, and nothing else. */
export const isSameHistory = (kept: StoredConversation, { fingerprint: standing }: ClientHistory): boolean =>
  standing.head === kept.fingerprint.head;

/**
 * Whether a client left out the beginning, or put a summary in its place. Where the beginning is the same, it is something
 * else that was taken out, and one pair that is the same can be chance: many a chat ends with thanks.
 */
const isShortened = (kept: StoredConversation, { fingerprint: standing, base: { tail } }: ClientHistory): boolean =>
  standing.entries < kept.fingerprint.entries &&
  standing.opening !== kept.fingerprint.opening &&
  tail.length === 2 &&
  tail.every((pair, place) => pair === kept.tail[place]);

/** Whether this is all that a client may know that left during the last answer. */
const isCutShort = (
  { stoppedAt }: StoredConversation,
  { fingerprint: standing, base: footing }: ClientHistory,
  told: string | undefined,
): boolean => {
  if (stoppedAt === undefined) return false;
  const [entry] = footing.last;
  if (entry?.role !== 'assistant') return standing.head === stoppedAt;
  return footing.fingerprint.head === stoppedAt && told?.startsWith(entry.text) === true;
};

/**
 * Whether a history that differs from what was said is still the same conversation to a client that named this very one.
 * `told` is the last answer, where it was stopped and is still known.
 */
export const isPlausibleHistory = (
  kept: StoredConversation,
  history: ClientHistory,
  told: string | undefined,
): boolean => isCutShort(kept, history, told) || isShortened(kept, history);

type AddedTo = { readonly footing: HistoryBase; readonly digest: Digest };

/** What a conversation is after an exchange. */
export const addExchange = (
  kept: StoredConversation,
  exchanged: FinishedExchange,
  { footing, digest }: AddedTo,
): StoredConversation => {
  const { fingerprint: standing, last } = footing;
  const { promptText: asked, files, answerText: told } = exchanged;
  const question = appendMessages(last, [{ role: 'user', text: asked, files }]);
  const entries = appendMessages(question, [{ role: 'assistant', text: told }]);
  const asAsked = extendFingerprint(standing, question, digest);
  const token = readResponseID(exchanged.responseID)?.token ?? '';
  return {
    ...kept,
    fingerprint: extendFingerprint(asAsked, entries.slice(question.length), digest),
    tail: extendTail(footing.tail, hashTail(entries.slice(-2), digest)),
    stoppedAt: exchanged.isStopped ? asAsked.head : undefined,
    exchanges: latestExchanges([...kept.exchanges, { token, promptID: exchanged.promptID ?? '' }]),
  };
};
