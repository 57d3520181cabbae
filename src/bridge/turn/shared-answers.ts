import { untilAborted } from '../../core/async.ts';
import type { Clock } from '../../core/clock.ts';
import { Fault } from '../../core/fault.ts';
import { IDEMPOTENCY_KEY_REUSED } from '../request.ts';

/** Tells a request that is sent again from a new one. */
export type RequestIdentity = {
  /** The header `Idempotency-Key`. */
  readonly key: string | undefined;
  /** A digest of the whole request and of its conversation. */
  readonly digest: string;
  /** Whether the client says that it has sent this before (`x-stainless-retry-count`). */
  readonly isRetry: boolean;
};

/**
 * What happens to an answer whose last reader has disconnected: it is aborted at once, it is aborted after `ms` unless a client
 * comes back, or it continues.
 */
export type DisconnectPolicy =
  | { readonly kind: 'abort' }
  | { readonly kind: 'grace'; readonly ms: number }
  | { readonly kind: 'detach' };

/** How an answer ended. `void`: nothing has happened that a second run would repeat. */
export type AnswerResult = 'answered' | 'failed' | 'void';

/** What an answer tells those who share it. */
export type AnswerHandle = {
  /** Aborts when no client wants the answer any more. */
  readonly signal: AbortSignal;
  /** The agent gets the prompt now. Until then an answer without readers is aborted at once, because that costs nothing. */
  readonly begin: () => void;
  /** It has ended, and holds so many characters for those who come back. Later calls change nothing. */
  readonly end: (result: AnswerResult, chars?: number) => void;
};

/** One request that reads an answer. Only the first call of one of the functions counts. */
export type SharedAnswerReader<T> = {
  readonly answer: T;
  /** The client has disconnected before it had everything. */
  readonly leave: () => void;
  /** The client has everything. */
  readonly finish: () => void;
};

type ClaimingRequest = {
  readonly owner: string;
  readonly identity: RequestIdentity;
  /** Aborts when the client disconnects. */
  readonly signal: AbortSignal;
};

/** The answers that run or have ended lately, so that a request that is sent again joins its own and nothing runs twice. */
export type SharedAnswers<T> = {
  /** The answer that the request has started earlier, else a new one. Faults when its key came with another request. */
  readonly claim: (request: ClaimingRequest, create: (handle: AnswerHandle) => T) => Promise<SharedAnswerReader<T>>;
  /** Aborts answers without readers, unless they go on by policy, and resolves when they have ended. Never rejects. */
  readonly endAbandoned: (owner: string, isMeant: (answer: T) => boolean) => Promise<void>;
};

type Entry<T> = {
  readonly identity: RequestIdentity;
  readonly answer: T;
  readonly abort: () => void;
  readonly isAborted: () => boolean;
  readonly settled: Promise<void>;
  readers: number;
  hasBegun: boolean;
  /** Since when it has no reader, if the last one has left before it had everything. */
  leftAt: number | undefined;
  ended: { readonly at: number; readonly result: AnswerResult } | undefined;
  /** When a client last got all of it, or its end if none did. */
  usedAt: number;
  /** What it holds since it has ended. */
  chars: number;
  cancelAbort: () => void;
};

/** For each owner, beside the running answers. */
const ENTRIES_LIMIT = 256;
/** Of the texts of all ended answers together. The oldest go first; a retry then finds the answer at the agent. */
const CHARS_LIMIT = 16 * 1024 * 1024;
/** A client that comes back says so by the key or by its count, so its answer is kept for as long as clients wait. */
const KEPT_MS = 600_000;
/** The same text may be a new request once the answer was read. */
const KEPT_AFTER_READING_MS = 10_000;
/** How long after its reader has left an answer waits for an equal request that does not say that it is a retry. */
const JOINED_DETACHED_MS = 10_000;
/** Clients that ignore `x-should-retry` retry within this time. A person takes longer to decide. */
const REPEATED_WITHIN_MS = 5000;
/** However many requests come, after this time a new one is tried instead of repeating the failure. */
const REPEATED_AT_MOST_MS = 30_000;

const isExpired = ({ identity, ended, usedAt, leftAt }: Entry<unknown>, now: number): boolean => {
  if (ended === undefined) return false;
  const isKept = ended.result !== 'void' && (identity.key !== undefined || leftAt !== undefined);
  return now - usedAt >= (isKept ? KEPT_MS : KEPT_AFTER_READING_MS);
};

const isEnding = ({ ended, isAborted }: Entry<unknown>): boolean => ended === undefined && isAborted();

const repeatsFailure = ({ ended, usedAt }: Entry<unknown>, now: number): boolean =>
  ended?.result === 'failed' && now - usedAt < REPEATED_WITHIN_MS && now - ended.at < REPEATED_AT_MOST_MS;

/** For how long an equal request that is not marked as a retry joins an answer that its reader has left. */
export const joinedWithinMs = (policy: DisconnectPolicy): number => {
  if (policy.kind === 'grace') return policy.ms;
  return policy.kind === 'detach' ? JOINED_DETACHED_MS : 0;
};

/**
 * The entry that a request has started, among those of its owner, the oldest first. Equal texts of two users behind one key are
 * two requests: without a key, one whose reader has left is preferred, because a client leaves before it tries again; and a
 * request that is not marked as a retry gets no answer that has another reader.
 */
const findOwn = <T>(
  entries: readonly Entry<T>[],
  { key, digest, isRetry }: RequestIdentity,
  { now, joinedMs }: { readonly now: number; readonly joinedMs: number },
): Entry<T> | undefined => {
  if (key !== undefined) return entries.find((entry) => entry.identity.key === key);
  const equal = entries.filter(({ identity }) => identity.key === undefined && identity.digest === digest);
  const left = equal
    .filter(({ leftAt }) => leftAt !== undefined)
    .sort((one, other) => (one.leftAt ?? 0) - (other.leftAt ?? 0));
  // Clients come back soon: the first that has left is the first to be taken, and none is left over for too long.
  const waits = (entry: Entry<T>): boolean => !isEnding(entry) && now - (entry.leftAt ?? 0) < joinedMs;
  const recent = left.find(waits) ?? left.find(isEnding);
  if (isRetry) return recent ?? left.at(-1) ?? equal.at(-1);
  return recent ?? equal.findLast((entry) => repeatsFailure(entry, now));
};

export const createSharedAnswers = <T>(clock: Clock, policy: DisconnectPolicy): SharedAnswers<T> => {
  const owners = new Map<string, Set<Entry<T>>>();
  const entriesOf = (owner: string): Set<Entry<T>> => {
    const entries = owners.get(owner) ?? new Set<Entry<T>>();
    owners.set(owner, entries);
    return entries;
  };
  /** Running answers are never removed: the same request would run twice. */
  const sweep = (entries: Set<Entry<T>>): void => {
    for (const entry of entries) {
      const isSurplus = entries.size > ENTRIES_LIMIT && entry.ended !== undefined;
      if (isSurplus || isExpired(entry, clock.now())) drop(entries, entry);
    }
  };
  let heldChars = 0;
  const drop = (entries: Set<Entry<T>>, entry: Entry<T>): void => {
    if (entries.delete(entry)) heldChars -= entry.chars;
  };
  const hold = (entry: Entry<T>, chars: number): void => {
    entry.chars = chars;
    heldChars += chars;
    for (const entries of owners.values())
      for (const one of entries) {
        if (heldChars <= CHARS_LIMIT) return;
        if (one !== entry && one.ended !== undefined && one.readers === 0) drop(entries, one);
      }
  };
  const onLeft = (entry: Entry<T>): void => {
    if (entry.readers > 0) return;
    entry.leftAt = clock.now();
    if (entry.ended !== undefined) return;
    if (!entry.hasBegun || policy.kind === 'abort') entry.abort();
    else if (policy.kind === 'grace') entry.cancelAbort = clock.after(policy.ms, entry.abort);
  };
  const addReader = (entry: Entry<T>): SharedAnswerReader<T> => {
    entry.readers += 1;
    entry.leftAt = undefined;
    entry.cancelAbort();
    let isGone = false;
    const once = (onGone: () => void) => (): void => {
      if (isGone) return;
      isGone = true;
      entry.readers -= 1;
      onGone();
    };
    return {
      answer: entry.answer,
      leave: once(() => onLeft(entry)),
      finish: once(() => {
        entry.usedAt = clock.now();
      }),
    };
  };
  const add = (entries: Set<Entry<T>>, identity: RequestIdentity, create: (handle: AnswerHandle) => T): Entry<T> => {
    const controller = new AbortController();
    const { promise: settled, resolve: settle } = Promise.withResolvers<void>();
    const end = (result: AnswerResult, chars = 0): void => {
      if (entry.ended !== undefined) return;
      entry.cancelAbort();
      entry.ended = { at: clock.now(), result };
      entry.usedAt = clock.now();
      hold(entry, chars);
      sweep(entries);
      settle();
    };
    const begin = (): void => {
      entry.hasBegun = true;
    };
    const entry: Entry<T> = {
      identity,
      answer: create({ signal: controller.signal, begin, end }),
      abort: () => controller.abort(new Fault({ kind: 'client-left' })),
      isAborted: () => controller.signal.aborted,
      settled,
      readers: 0,
      hasBegun: false,
      leftAt: undefined,
      ended: undefined,
      usedAt: clock.now(),
      chars: 0,
      cancelAbort() {},
    };
    entries.add(entry);
    return entry;
  };
  return {
    async claim({ owner, identity, signal }, create) {
      const entries = entriesOf(owner);
      for (;;) {
        sweep(entries);
        const found = findOwn([...entries], identity, { now: clock.now(), joinedMs: joinedWithinMs(policy) });
        if (found?.ended?.result === 'void') drop(entries, found);
        else if (found !== undefined && found.identity.digest !== identity.digest) throw IDEMPOTENCY_KEY_REUSED;
        else if (found !== undefined && !isEnding(found)) return addReader(found);
        if (found === undefined || found.ended !== undefined) return addReader(add(entries, identity, create));
        await untilAborted(found.settled, signal);
      }
    },
    async endAbandoned(owner, isMeant) {
      if (policy.kind === 'detach') return;
      const abandoned = [...entriesOf(owner)].filter(
        ({ readers, ended, answer }) => readers === 0 && ended === undefined && isMeant(answer),
      );
      for (const { abort } of abandoned) abort();
      await Promise.all(abandoned.map(({ settled }) => settled));
    },
  };
};
