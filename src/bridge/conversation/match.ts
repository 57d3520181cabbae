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

/** The history that an exchange is added to. */
export type HistoryBase = {
  /** Of all entries but `last`. */
  readonly fingerprint: HistoryFingerprint;
  /** The last entry, apart from the others: if it is the user's, the prompt becomes a part of it. */
  readonly last: readonly HistoryMessage[];
  readonly tail: readonly string[];
};

/** A history as the client sent it, with all that is derived from it. It may be long, so it is read once. */
export type ClientHistory = {
  readonly messages: readonly HistoryMessage[];
  readonly entries: readonly HistoryMessage[];
  /** Of all entries. */
  readonly fingerprint: HistoryFingerprint;
  readonly base: HistoryBase;
};

export const readHistory = (messages: readonly HistoryMessage[], digest: Digest): ClientHistory => {
  const entries = normalizeMessages(messages);
  const last = entries.slice(-1);
  const beforeLast = extendFingerprint(EMPTY_FINGERPRINT, entries.slice(0, -1), digest);
  const base = { fingerprint: beforeLast, last, tail: hashTail(entries, digest) };
  return { messages, entries, fingerprint: extendFingerprint(beforeLast, last, digest), base };
};

/** The stored history of a conversation, for a client that does not send the history. */
export const storedBase = ({ fingerprint, tail }: StoredConversation): HistoryBase => ({ fingerprint, last: [], tail });

/** Whether a history is exactly that of a conversation. */
export const isSameHistory = (stored: StoredConversation, { fingerprint }: ClientHistory): boolean =>
  fingerprint.head === stored.fingerprint.head;

/**
 * Whether a client left out the beginning, or replaced it by a summary. If the beginning is the same, something else was left
 * out. One equal pair can be chance, as many chats end with thanks, so two are required.
 */
const isShortened = (stored: StoredConversation, { fingerprint, base: { tail } }: ClientHistory): boolean =>
  fingerprint.entries < stored.fingerprint.entries &&
  fingerprint.opening !== stored.fingerprint.opening &&
  tail.length === 2 &&
  tail.every((pair, index) => pair === stored.tail[index]);

/** Whether this is all that a client can know that disconnected during the last answer. */
const isCutShort = (
  { stoppedAt }: StoredConversation,
  { fingerprint, base }: ClientHistory,
  stoppedAnswer: string | undefined,
): boolean => {
  if (stoppedAt === undefined) return false;
  const [entry] = base.last;
  if (entry?.role !== 'assistant') return fingerprint.head === stoppedAt;
  return base.fingerprint.head === stoppedAt && stoppedAnswer?.startsWith(entry.text) === true;
};

/**
 * Whether a history that differs from the stored one can still be meant as the same conversation, which its client named.
 * `stoppedAnswer` is the last answer, where it was stopped and is still in memory.
 */
export const isPlausibleHistory = (
  stored: StoredConversation,
  history: ClientHistory,
  stoppedAnswer: string | undefined,
): boolean => isCutShort(stored, history, stoppedAnswer) || isShortened(stored, history);

/** The conversation after an exchange that was added to `base`. */
export const addExchange = (
  stored: StoredConversation,
  exchange: FinishedExchange,
  { base, digest }: { readonly base: HistoryBase; readonly digest: Digest },
): StoredConversation => {
  const { promptText, files, answerText, responseID, promptID, isStopped, isUnread } = exchange;
  const withPrompt = appendMessages(base.last, [{ role: 'user', text: promptText, files }]);
  const entries = appendMessages(withPrompt, [{ role: 'assistant', text: answerText }]);
  const beforeAnswer = extendFingerprint(base.fingerprint, withPrompt, digest);
  const token = readResponseID(responseID)?.token ?? '';
  return {
    ...stored,
    fingerprint: extendFingerprint(beforeAnswer, entries.slice(withPrompt.length), digest),
    tail: extendTail(base.tail, hashTail(entries.slice(-2), digest)),
    stoppedAt: isStopped ? beforeAnswer.head : undefined,
    request: stored.request && isUnread ? { ...stored.request, isUnread } : stored.request,
    exchanges: latestExchanges([
      // It may be known already as a prompt that an earlier process has sent.
      ...stored.exchanges.filter((known) => known.promptID === '' || known.promptID !== promptID),
      { token, promptID: promptID ?? '' },
    ]),
  };
};
