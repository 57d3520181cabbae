import type { Clock } from '../../core/clock.ts';
import { Fault } from '../../core/fault.ts';

/** What tells a request that is sent again from a new one. */
export type RequestIdentity = {
  /** The header `Idempotency-Key`. */
  readonly key: string | undefined;
  /** A digest of everything that is asked, and of the conversation that it is asked in. */
  readonly digest: string;
  /** Whether the client says that it has sent this before (`x-stainless-retry-count`). */
  readonly isRetry: boolean;
};

/** Remembers what requests have led to, so that one that is sent again gets the same and nothing is run twice. */
export type IdempotencyStore<T> = {
  /** Faults with `bad-input` (`idempotency_key_reused`) when the key came with another request. */
  readonly find: (owner: string, mark: RequestIdentity) => T | undefined;
  readonly add: (owner: string, mark: RequestIdentity, value: T) => void;
  /**
   * It has ended. From here on its time runs. Whoever sends the same at once after a failure, without saying that it does,
   * gets the failure too.
   */
  readonly settle: (value: T, how: 'answered' | 'failed') => void;
  readonly remove: (value: T) => void;
};

type Entry<T> = {
  readonly digest: string;
  readonly value: T;
  readonly keptMs: number;
  settledAt: number | undefined;
  failedAt: number | undefined;
  repeatedAt: number;
};

/** For each owner, besides what is still under way. */
const KEPT = 256;
const KEPT_WITH_KEY_MS = 600_000;
/** Without a key the same words may be meant anew, so only who comes back at once is taken for the same. */
const KEPT_MS = 10_000;
/** Clients that take no notice of `x-should-retry` come back within this time. A person takes longer to decide. */
const REPEATED_WITHIN_MS = 5000;
/** However many come, a failure is not told for longer than this instead of trying. */
const REPEATED_AT_MOST_MS = 30_000;

const REUSED = new Fault({
  kind: 'bad-input',
  code: 'idempotency_key_reused',
  param: 'Idempotency-Key',
  message: 'This Idempotency-Key came with another request before: use a new key for a new request',
});

const isOver = (entry: Entry<unknown>, now: number): boolean =>
  entry.settledAt !== undefined && now - entry.settledAt >= entry.keptMs;

const isStillFailure = (entry: Entry<unknown>, now: number): boolean =>
  entry.failedAt !== undefined &&
  now - entry.repeatedAt < REPEATED_WITHIN_MS &&
  now - entry.failedAt < REPEATED_AT_MOST_MS;

export const createIdempotencyStore = <T>(clock: Clock): IdempotencyStore<T> => {
  const owners = new Map<string, Map<string, Entry<T>>>();
  const entriesOf = (owner: string): Map<string, Entry<T>> => {
    const known = owners.get(owner) ?? new Map<string, Entry<T>>();
    owners.set(owner, known);
    return known;
  };
  const live = (owner: string, place: string): Entry<T> | undefined => {
    const entries = entriesOf(owner);
    const entry = entries.get(place);
    if (entry === undefined || !isOver(entry, clock.now())) return entry;
    entries.delete(place);
    return undefined;
  };
  /** What is under way is never let go: that would run it twice. */
  const sweep = (entries: Map<string, Entry<T>>): void => {
    const now = clock.now();
    for (const [place, entry] of entries) {
      const isSpare = entries.size > KEPT && entry.settledAt !== undefined;
      if (isSpare || isOver(entry, now)) entries.delete(place);
    }
  };
  const each = function* (value: T): Generator<Entry<T>> {
    for (const entries of owners.values()) for (const entry of entries.values()) if (entry.value === value) yield entry;
  };
  return {
    find(owner, { key, digest, isRetry }) {
      const byKey = key === undefined ? undefined : live(owner, `key ${key}`);
      if (byKey !== undefined && byKey.digest !== digest) throw REUSED;
      // A key that is new says that this is meant anew, whatever else was asked in the same words.
      if (key !== undefined) return byKey?.value;
      const same = live(owner, `same ${digest}`);
      if (same === undefined || isRetry) return same?.value;
      if (!isStillFailure(same, clock.now())) return undefined;
      same.repeatedAt = clock.now();
      return same.value;
    },
    add(owner, { key, digest }, value) {
      const entries = entriesOf(owner);
      const put = (place: string, keptMs: number): void => {
        entries.delete(place);
        entries.set(place, { digest, value, keptMs, settledAt: undefined, failedAt: undefined, repeatedAt: 0 });
      };
      if (key !== undefined) put(`key ${key}`, KEPT_WITH_KEY_MS);
      put(`same ${digest}`, KEPT_MS);
      sweep(entries);
    },
    settle(value, how) {
      for (const entry of each(value)) {
        entry.settledAt = clock.now();
        entry.repeatedAt = clock.now();
        entry.failedAt = how === 'failed' ? clock.now() : undefined;
      }
      for (const entries of owners.values()) sweep(entries);
    },
    remove(value) {
      for (const entries of owners.values())
        for (const [place, entry] of entries) if (entry.value === value) entries.delete(place);
    },
  };
};
