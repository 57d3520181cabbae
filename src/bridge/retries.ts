import type { Clock } from '../core/clock.ts';
import { Fault } from '../core/fault.ts';

/** What tells a request that is sent again from a new one. */
export type RetryMark = {
  /** The header `Idempotency-Key`. */
  readonly key: string | undefined;
  /** A digest of the owner and the whole body. */
  readonly bodyDigest: string;
  /** Whether the client says that it has sent this before (`x-stainless-retry-count`). */
  readonly isRetry: boolean;
};

type Entry<T> = { readonly bodyDigest: string; readonly value: T; readonly until: number; failedUntil: number };

/** Remembers what requests have led to, so that one that is sent again gets the same and nothing is run twice. */
export type Retries<T> = {
  /** Faults with `bad-input` (`idempotency_key_reused`) when the key came with another body. */
  readonly earlier: (owner: string, mark: RetryMark) => T | undefined;
  readonly keep: (owner: string, mark: RetryMark, value: T) => void;
  /** It failed after something was done: whoever sends the same at once, without saying that it does, gets the failure. */
  readonly fail: (value: T) => void;
  readonly drop: (value: T) => void;
};

const KEPT = 256;
const KEPT_MS = 600_000;
/** Clients that take no notice of `x-should-retry` come back within this time. A person takes longer to decide. */
const REPEATED_WITHIN_MS = 5000;

const REUSED = new Fault({
  kind: 'bad-input',
  code: 'idempotency_key_reused',
  param: 'Idempotency-Key',
  message: 'This Idempotency-Key came with another body before: use a new key for a new request',
});

export const createRetries = <T>(clock: Clock): Retries<T> => {
  const entries = new Map<string, Entry<T>>();
  const placesOf = (owner: string, { key, bodyDigest }: RetryMark): string[] => [
    ...(key === undefined ? [] : [`key ${owner} ${key}`]),
    `body ${owner} ${bodyDigest}`,
  ];
  const live = (place: string): Entry<T> | undefined => {
    const entry = entries.get(place);
    if (entry === undefined || entry.until > clock.now()) return entry;
    entries.delete(place);
    return undefined;
  };
  return {
    earlier(owner, mark) {
      const byKey = mark.key === undefined ? undefined : live(`key ${owner} ${mark.key}`);
      if (byKey !== undefined && byKey.bodyDigest !== mark.bodyDigest) throw REUSED;
      if (byKey !== undefined) return byKey.value;
      const byBody = live(`body ${owner} ${mark.bodyDigest}`);
      if (byBody === undefined || mark.isRetry) return byBody?.value;
      if (byBody.failedUntil <= clock.now()) return undefined;
      // Who waits longer each time is still the same.
      byBody.failedUntil = clock.now() + REPEATED_WITHIN_MS;
      return byBody.value;
    },
    keep(owner, mark, value) {
      for (const place of placesOf(owner, mark)) {
        entries.delete(place);
        entries.set(place, { bodyDigest: mark.bodyDigest, value, until: clock.now() + KEPT_MS, failedUntil: 0 });
      }
      // The oldest come first, and are of no use to anybody once their time is over.
      for (const [place, { until }] of entries) {
        if (entries.size <= KEPT && until > clock.now()) break;
        entries.delete(place);
      }
    },
    fail(value) {
      for (const entry of entries.values())
        if (entry.value === value) entry.failedUntil = clock.now() + REPEATED_WITHIN_MS;
    },
    drop(value) {
      for (const [place, entry] of entries) if (entry.value === value) entries.delete(place);
    },
  };
};
