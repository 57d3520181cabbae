import type { TurnReaders } from '../../conversation/types.ts';

/** Tells a request that is sent again from a new one. */
export type RequestIdentity = {
  /** The header `Idempotency-Key`. */
  readonly key: string | undefined;
  /** A digest of the whole request and of its conversation. */
  readonly digest: string;
  /** Of a request that has nothing but results of calls: a digest of the calls, and of what came before them. */
  readonly callsDigest?: string | undefined;
  /** Whether the client says that it has sent this before (`x-stainless-retry-count`). */
  readonly isRetry: boolean;
};

/** How an answer ended. `void`: nothing has happened that a second run would repeat. */
export type AnswerResult = 'answered' | 'failed' | 'void';

/** An answer that runs or has ended lately. */
export type KeptAnswer<T> = {
  readonly identity: RequestIdentity;
  /** Whether it goes on without readers. */
  readonly isBackground: boolean;
  /** Undefined once its text was given up: the same request must not run again, but finds its answer elsewhere. */
  answer: T | undefined;
  readonly abort: () => void;
  readonly isAborted: () => boolean;
  readonly settled: Promise<void>;
  readers: number;
  hasBegun: boolean;
  /** Whether the results of its request have gone to the calls that waited for them. */
  isOfResults: boolean;
  /** Its clients at all bridges, once it has begun and if others can know it. */
  turnReaders: TurnReaders | undefined;
  /** Whether a client has had all of it. Who leaves it after that was not the one it was made for, or asks for it by key or count. */
  isGiven: boolean;
  /** Until it is known whether the last reader that has left here was the last of all. */
  leaving: Promise<void> | undefined;
  /** Since when it has no reader, if the last one has left before it had everything. */
  leftAt: number | undefined;
  ended: { readonly at: number; readonly result: AnswerResult } | undefined;
  /** When a client last got all of it, or its end if none did. */
  usedAt: number;
  /** What it holds since it has ended. */
  chars: number;
  cancelAbort: () => void;
};

/** Of an owner, beside the running answers. Older ones give up their texts. */
const TEXTS_LIMIT = 256;
/** Of an owner, with those that have given up their texts. */
const ENTRIES_LIMIT = 4096;
/** Of the texts of all ended answers together. */
const CHARS_LIMIT = 16 * 1024 * 1024;
/** A client that comes back says so by the key or by its count, so its answer is kept for as long as clients wait. */
const KEPT_MS = 600_000;
/** The same text may be a new request once the answer was read. */
const KEPT_AFTER_READING_MS = 10_000;
/** Clients that ignore `x-should-retry` retry within this time. A person takes longer to decide. */
const REPEATED_WITHIN_MS = 5000;
/** However many requests come, after this time a new one is tried instead of repeating the failure. */
const REPEATED_AT_MOST_MS = 30_000;

/** Whether the client that was to read it may still come back for it. */
const isWanted = ({ identity, isOfResults, ended, leftAt }: KeptAnswer<unknown>): boolean =>
  ended?.result !== 'void' && (identity.key !== undefined || isOfResults || leftAt !== undefined);

/** Whether it has ended and no client is being sent what is left of it. Who leaves before that is done comes back for it. */
const isOver = ({ ended, readers }: KeptAnswer<unknown>): boolean => ended !== undefined && readers === 0;

const isExpired = (kept: KeptAnswer<unknown>, now: number): boolean =>
  isOver(kept) && now - kept.usedAt >= (isWanted(kept) ? KEPT_MS : KEPT_AFTER_READING_MS);

/** Since when it has no reader at any bridge, if the last one has left before it had everything. */
const leftAtOf = ({ readers, leftAt, turnReaders }: KeptAnswer<unknown>): number | undefined => {
  if (readers > 0 || leftAt === undefined) return undefined;
  const { isRead, leftAtMs = leftAt } = turnReaders?.elsewhere() ?? { isRead: false };
  return isRead ? undefined : Math.max(leftAt, leftAtMs);
};

/** Whether it is aborted or about to be, and has not ended yet. */
export const isEnding = ({ ended, isAborted, leaving }: KeptAnswer<unknown>): boolean =>
  ended === undefined && (isAborted() || leaving !== undefined);

const repeatsFailure = ({ ended, usedAt }: KeptAnswer<unknown>, now: number): boolean =>
  ended?.result === 'failed' && now - usedAt < REPEATED_WITHIN_MS && now - ended.at < REPEATED_AT_MOST_MS;

/** Whether it is the answer to the first results of the same calls: none is taken for them but these. */
const isOfSameCalls = (entry: KeptAnswer<unknown>, callsDigest: string | undefined): boolean =>
  callsDigest !== undefined &&
  entry.identity.callsDigest === callsDigest &&
  (entry.isOfResults || !entry.hasBegun) &&
  (entry.ended === undefined ? !isEnding(entry) : entry.ended.result === 'answered');

/**
 * The entry that a request has started, among those of its owner, the oldest first. Equal texts of two users behind one key are
 * two requests: without a key, one whose reader has left is preferred, because a client leaves before it tries again; and a
 * request that is not marked as a retry gets no answer that has another reader. But the first results of calls count: others for the
 * same calls, after the same messages, get the answer that these have got.
 */
export const findOwn = <T>(
  entries: readonly KeptAnswer<T>[],
  { key, digest, callsDigest, isRetry }: RequestIdentity,
  { now, joinedMs }: { readonly now: number; readonly joinedMs: number },
): KeptAnswer<T> | undefined => {
  if (key !== undefined) return entries.find((entry) => entry.identity.key === key);
  const ofSameCalls = entries.find((entry) => isOfSameCalls(entry, callsDigest));
  if (ofSameCalls !== undefined) return ofSameCalls;
  const equal = entries.filter(({ identity }) => identity.key === undefined && identity.digest === digest);
  const left = equal
    .filter((entry) => leftAtOf(entry) !== undefined)
    .sort((one, other) => (leftAtOf(one) ?? 0) - (leftAtOf(other) ?? 0));
  // Clients come back soon: the first that has left is the first to be taken, and none is left over for too long.
  const waits = (entry: KeptAnswer<T>): boolean => !isEnding(entry) && now - (leftAtOf(entry) ?? 0) < joinedMs;
  const recent = left.find(waits) ?? left.find(isEnding);
  if (isRetry) return recent ?? left.at(-1) ?? equal.at(-1);
  return recent ?? equal.findLast((entry) => repeatsFailure(entry, now));
};

/** The answers of all owners, within the limits of what is kept of those that have ended. */
export type KeptAnswers<T> = {
  /** Those of an owner, the oldest first. Add to it what is started. */
  readonly of: (owner: string) => Set<KeptAnswer<T>>;
  readonly drop: (entries: Set<KeptAnswer<T>>, kept: KeptAnswer<T>) => void;
  /** Counts the text of an answer that has ended. Over the limit, texts are given up: those that were read first, then the oldest. */
  readonly hold: (kept: KeptAnswer<T>, chars: number) => void;
  /** Removes what has expired or is too much. Never what runs or is being read: the same request would run twice. */
  readonly sweep: (entries: Set<KeptAnswer<T>>, now: number) => void;
};

export const createKeptAnswers = <T>(): KeptAnswers<T> => {
  const owners = new Map<string, Set<KeptAnswer<T>>>();
  let heldChars = 0;
  const forget = (kept: KeptAnswer<T>): void => {
    heldChars -= kept.chars;
    kept.chars = 0;
    kept.answer = undefined;
  };
  const drop = (entries: Set<KeptAnswer<T>>, kept: KeptAnswer<T>): void => {
    if (entries.delete(kept)) forget(kept);
  };
  return {
    of(owner) {
      const entries = owners.get(owner) ?? new Set<KeptAnswer<T>>();
      owners.set(owner, entries);
      return entries;
    },
    drop,
    hold(kept, chars) {
      kept.chars = chars;
      heldChars += chars;
      if (heldChars <= CHARS_LIMIT) return;
      const unreadLast = (one: KeptAnswer<T>): number => (one.leftAt === undefined ? 0 : 1);
      const others = [...owners.values()]
        .flatMap((entries) => [...entries])
        .filter((one) => one !== kept && one.chars > 0 && isOver(one))
        .sort((one, other) => unreadLast(one) - unreadLast(other) || (one.ended?.at ?? 0) - (other.ended?.at ?? 0));
      for (const one of others) {
        if (heldChars <= CHARS_LIMIT) return;
        forget(one);
      }
    },
    sweep(entries, now) {
      for (const kept of entries) if (isExpired(kept, now)) drop(entries, kept);
      if (entries.size <= TEXTS_LIMIT) return;
      const ended = [...entries].filter(isOver);
      const surplus = ended.slice(0, Math.max(0, ended.length - TEXTS_LIMIT));
      for (const kept of surplus) {
        if (isWanted(kept)) forget(kept);
        else drop(entries, kept);
      }
      for (const kept of surplus) {
        if (entries.size <= ENTRIES_LIMIT) return;
        drop(entries, kept);
      }
    },
  };
};
