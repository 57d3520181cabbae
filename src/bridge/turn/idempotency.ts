import type { Clock } from '../../core/clock.ts';
import { Fault } from '../../core/fault.ts';

/** Tells a request that is sent again from a new one. */
export type RequestIdentity = {
  /** The header `Idempotency-Key`. */
  readonly key: string | undefined;
  /** A digest of the whole request and of its conversation. */
  readonly digest: string;
  /** Whether the client says that it has sent this before (`x-stainless-retry-count`). */
  readonly isRetry: boolean;
};

/** Stores what requests have started, so that a request that is sent again gets the same and nothing runs twice. */
type IdempotencyStore<T> = {
  /** Faults with `bad-input` (`idempotency_key_reused`) when the key came with another request. */
  readonly find: (owner: string, identity: RequestIdentity) => T | undefined;
  readonly add: (owner: string, identity: RequestIdentity, value: T) => void;
  /**
   * The answer has ended, and its entry expires some time after now. A client that sends the same request at once after a
   * failure gets the failure again, even if it does not mark the request as a retry.
   */
  readonly settle: (value: T, result: 'answered' | 'failed') => void;
  readonly remove: (value: T) => void;
};

type Entry<T> = {
  readonly digest: string;
  readonly value: T;
  readonly lifetimeMs: number;
  settledAt: number | undefined;
  failedAt: number | undefined;
  repeatedAt: number;
};

/** For each owner, beside the entries of running answers. */
const ENTRIES_LIMIT = 256;
const WITH_KEY_LIFETIME_MS = 600_000;
/** Without a key the same text may be a new request, so only one that comes soon counts as the same. */
const WITHOUT_KEY_LIFETIME_MS = 10_000;
/** Clients that ignore `x-should-retry` retry within this time. A person takes longer to decide. */
const REPEATED_WITHIN_MS = 5000;
/** However many requests come, after this time a new one is tried instead of repeating the failure. */
const REPEATED_AT_MOST_MS = 30_000;

const REUSED = new Fault({
  kind: 'bad-input',
  code: 'idempotency_key_reused',
  param: 'Idempotency-Key',
  message: 'This Idempotency-Key came with another request before: use a new key for a new request',
});

const isExpired = (entry: Entry<unknown>, now: number): boolean =>
  entry.settledAt !== undefined && now - entry.settledAt >= entry.lifetimeMs;

const repeatsFailure = (entry: Entry<unknown>, now: number): boolean =>
  entry.failedAt !== undefined &&
  now - entry.repeatedAt < REPEATED_WITHIN_MS &&
  now - entry.failedAt < REPEATED_AT_MOST_MS;

export const createIdempotencyStore = <T>(clock: Clock): IdempotencyStore<T> => {
  const owners = new Map<string, Map<string, Entry<T>>>();
  const entriesOf = (owner: string): Map<string, Entry<T>> => {
    const entries = owners.get(owner) ?? new Map<string, Entry<T>>();
    owners.set(owner, entries);
    return entries;
  };
  const findLive = (owner: string, name: string): Entry<T> | undefined => {
    const entries = entriesOf(owner);
    const entry = entries.get(name);
    if (entry === undefined || !isExpired(entry, clock.now())) return entry;
    entries.delete(name);
    return undefined;
  };
  /** Entries of running answers are never removed: the same request would run twice. */
  const sweep = (entries: Map<string, Entry<T>>): void => {
    const now = clock.now();
    for (const [name, entry] of entries) {
      const isSurplus = entries.size > ENTRIES_LIMIT && entry.settledAt !== undefined;
      if (isSurplus || isExpired(entry, now)) entries.delete(name);
    }
  };
  return {
    find(owner, { key, digest, isRetry }) {
      const byKey = key === undefined ? undefined : findLive(owner, `key ${key}`);
      if (byKey !== undefined && byKey.digest !== digest) throw REUSED;
      // A new key marks a new request, even if an earlier one had the same text.
      if (key !== undefined) return byKey?.value;
      const same = findLive(owner, `same ${digest}`);
      if (same === undefined || isRetry) return same?.value;
      if (!repeatsFailure(same, clock.now())) return undefined;
      same.repeatedAt = clock.now();
      return same.value;
    },
    add(owner, { key, digest }, value) {
      const entries = entriesOf(owner);
      const put = (name: string, lifetimeMs: number): void => {
        entries.delete(name);
        entries.set(name, { digest, value, lifetimeMs, settledAt: undefined, failedAt: undefined, repeatedAt: 0 });
      };
      if (key !== undefined) put(`key ${key}`, WITH_KEY_LIFETIME_MS);
      put(`same ${digest}`, WITHOUT_KEY_LIFETIME_MS);
      sweep(entries);
    },
    settle(value, result) {
      const now = clock.now();
      for (const entries of owners.values()) {
        for (const entry of entries.values()) {
          if (entry.value !== value) continue;
          entry.settledAt = now;
          entry.repeatedAt = now;
          entry.failedAt = result === 'failed' ? now : undefined;
        }
        sweep(entries);
      }
    },
    remove(value) {
      for (const entries of owners.values())
        for (const [name, entry] of entries) if (entry.value === value) entries.delete(name);
    },
  };
};
