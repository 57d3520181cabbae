import type { Steps } from '../../core/time-slices.ts';
import type { HistoryMessage } from '../request.ts';
import type { NewHash } from './digest.ts';
import {
  appendMessages,
  EMPTY_FINGERPRINT,
  extendFingerprint,
  extendTail,
  type HistoryFingerprint,
  hashTail,
  normalizeMessages,
} from './fingerprint.ts';
import { latestExchanges, type StoredConversation, type StoredExchange } from './record.ts';
import { readResponseID, responseTokenOf } from './response-id.ts';
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
  /** The same without the last results in it, where these may be new. */
  readonly others: readonly ClientHistory[];
};

/** `withheld`: what the last entry may have too much: the last of these, the last two and so on. */
export function* readHistory(
  messages: readonly HistoryMessage[],
  newHash: NewHash,
  withheld: readonly string[] = [],
): Steps<ClientHistory> {
  const digests = new Map<string, string>();
  const entries = yield* normalizeMessages(messages);
  let last = entries.slice(-1);
  const beforeLast = yield* extendFingerprint(EMPTY_FINGERPRINT, entries.slice(0, -1), newHash);
  const fingerprint = yield* extendFingerprint(beforeLast, last, newHash, digests);
  const base = { fingerprint: beforeLast, last, tail: yield* hashTail(entries, newHash) };
  const others: ClientHistory[] = [];
  for (const result of withheld.toReversed()) {
    yield;
    last = last.map(({ calls = [], ...entry }) => ({ ...entry, calls: calls.filter((call) => call !== result) }));
    const fewer = yield* extendFingerprint(beforeLast, last, newHash, digests);
    others.push({ messages, entries, fingerprint: fewer, base: { ...base, last }, others: [] });
  }
  return { messages, entries, fingerprint, base, others };
}

/** All that a history may be. */
export const formsOf = (history: ClientHistory): readonly ClientHistory[] => [history, ...history.others];

/** The stored history of a conversation, for a client that does not send the history. */
export const storedBase = ({ fingerprint, tail }: StoredConversation): HistoryBase => ({ fingerprint, last: [], tail });

/** The form in which a history is exactly that of a conversation; undefined if it is none of them. */
export const sameHistory = (stored: StoredConversation, history: ClientHistory): ClientHistory | undefined =>
  formsOf(history).find(({ fingerprint }) => fingerprint.head === stored.fingerprint.head);

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

/** What an exchange makes of the history that it is added to. */
export type ExtendedHistory = {
  readonly fingerprint: HistoryFingerprint;
  readonly tail: readonly string[];
  /** The head before the answer. */
  readonly beforeAnswer: string;
  /** The answer as `normalizeMessages` makes it. */
  readonly answerText: string;
};

export function* extendHistory(
  base: HistoryBase,
  exchange: Pick<FinishedExchange, 'results' | 'promptText' | 'files' | 'answerText' | 'calls'>,
  newHash: NewHash,
): Steps<ExtendedHistory> {
  const { results: given, promptText, files, answerText, calls = [] } = exchange;
  const results: readonly HistoryMessage[] = given === undefined ? [] : [{ role: 'assistant', text: '', calls: given }];
  const isWithPrompt = results.length === 0 || promptText !== '' || files.length > 0;
  const prompt: readonly HistoryMessage[] = isWithPrompt ? [{ role: 'user', text: promptText, files }] : [];
  const withPrompt = yield* appendMessages(base.last, [...results, ...prompt]);
  const answer = yield* normalizeMessages([{ role: 'assistant', text: answerText, calls }]);
  if (!isWithPrompt) {
    // With results alone the answer goes on in the entry of the calls.
    const whole = yield* appendMessages(withPrompt, answer);
    const beforeLast = yield* extendFingerprint(base.fingerprint, whole.slice(0, -1), newHash);
    return {
      fingerprint: yield* extendFingerprint(beforeLast, whole.slice(-1), newHash),
      tail: [],
      beforeAnswer: base.fingerprint.head,
      answerText: whole.at(-1)?.text ?? '',
    };
  }
  const beforeAnswer = yield* extendFingerprint(base.fingerprint, withPrompt, newHash);
  return {
    fingerprint: yield* extendFingerprint(beforeAnswer, answer, newHash),
    tail: extendTail(base.tail, yield* hashTail([...withPrompt, ...answer].slice(-2), newHash)),
    beforeAnswer: beforeAnswer.head,
    answerText: answer[0]?.text ?? '',
  };
}

/** The conversation after an exchange. `extended`: what that has made of its history. */
export const addExchange = (
  stored: StoredConversation,
  { responseID, promptID, isStopped, isUnread, failedAtMs, paused, results }: FinishedExchange,
  { fingerprint, tail, beforeAnswer }: ExtendedHistory,
): StoredConversation => {
  const token = readResponseID(responseID)?.token ?? '';
  /** Of the turn that goes on with the client's results, each answer has a response of its own. */
  const isAnotherAnswer = (known: StoredExchange): boolean => results !== undefined && known.token !== '';
  // A client may have left while this was about to be stored, or have read it at another bridge.
  const isUnreadNow = (isUnread || stored.request?.left !== undefined) && stored.request?.isUnread !== false;
  const isOfRequest = stored.request !== undefined && responseTokenOf(stored.request.token) === token;
  return {
    ...stored,
    fingerprint,
    tail,
    stoppedAt: isStopped ? beforeAnswer : undefined,
    isUnsure: undefined,
    paused,
    isUpToDate: true,
    request: isOfRequest
      ? {
          ...stored.request,
          ...(isUnreadNow ? { isUnread: true } : {}),
          ...(failedAtMs === undefined ? {} : { failedAtMs }),
        }
      : stored.request,
    exchanges: latestExchanges([
      // It may be known already as a prompt that another process has sent, or from a write of which no answer came.
      ...stored.exchanges.filter(
        (known) =>
          (known.promptID === '' || known.promptID !== promptID || known.asked || isAnotherAnswer(known)) &&
          (known.token === '' || known.token !== token),
      ),
      {
        token,
        promptID: promptID ?? '',
        ...(isOfRequest && stored.request?.isBackground ? { isBackground: true } : {}),
        ...(paused?.promptID === promptID && paused?.approvalIDs.length ? { asked: paused } : {}),
      },
    ]),
  };
};
