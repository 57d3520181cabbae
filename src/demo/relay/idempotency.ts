import type { Clock } from '../../core/clock.ts';
import { ok, refusedResponse } from './envelope.ts';

const KEPT_MS = 86_400_000;
const BACKOFF_MS = 5000;
const LOCK_SECONDS = 30;
const KEY = /^[\x21-\x7e]{1,128}$/;

type Ending =
  | { readonly kind: 'processing' }
  | { readonly kind: 'succeeded'; readonly data: unknown }
  | { readonly kind: 'failed'; readonly retryAt: number };

type Entry = { readonly fingerprint: string; readonly expiresAt: number; ending: Ending };

/** One run under a key. Without `succeed` or `fail` it stays in progress until the key expires. */
export type Run = {
  readonly succeed: (data: unknown) => void;
  readonly fail: () => void;
};

type Begun = { readonly run: Run } | { readonly reply: Response };

/** The platform's response to a key that was used with another request. */
export const conflict = (): Response =>
  refusedResponse({
    status: 409,
    message: 'idempotency key was used with a different request',
    reason: 'IDEMPOTENCY_KEY_CONFLICT',
  });

const later = (reason: string, message: string, seconds: number): Response =>
  refusedResponse(
    { status: 409, message, reason, metadata: { retry_after: String(seconds) } },
    { 'retry-after': String(seconds) },
  );

export const inProgress = (): Response =>
  later('IDEMPOTENCY_IN_PROGRESS', 'a request with this idempotency key is being processed', LOCK_SECONDS);

export const backingOff = (restMs = BACKOFF_MS): Response =>
  later(
    'IDEMPOTENCY_RETRY_BACKOFF',
    'the last attempt with this idempotency key failed',
    Math.max(1, Math.ceil(restMs / 1000)),
  );

export const storeUnavailable = (): Response =>
  refusedResponse({
    status: 503,
    message: 'idempotency store is unavailable',
    reason: 'IDEMPOTENCY_STORE_UNAVAILABLE',
  });

const badKey = (): Response =>
  refusedResponse({ status: 400, message: 'idempotency key is invalid', reason: 'IDEMPOTENCY_KEY_INVALID' });

const UNRECORDED: Run = { succeed() {}, fail() {} };

/**
 * Creates the platform's idempotency keys of one operation, across all users. A key expires after 24 hours, and 5 seconds
 * after a failure, and then runs again. A run that never ends is never noticed.
 */
export const createIdempotency = (clock: Clock) => {
  const entries = new Map<string, Entry>();
  const runOf = (entry: Entry): Run => ({
    succeed(data) {
      entry.ending = { kind: 'succeeded', data: structuredClone(data) };
    },
    fail() {
      entry.ending = { kind: 'failed', retryAt: clock.now() + BACKOFF_MS };
    },
  });
  const replyFor = ({ ending }: Entry): Response | undefined => {
    if (ending.kind === 'processing') return inProgress();
    if (ending.kind === 'succeeded') return ok(ending.data, { 'x-idempotency-replayed': 'true' });
    const restMs = ending.retryAt - clock.now();
    return restMs > 0 ? backingOff(restMs) : undefined;
  };
  return {
    /** A request without a key runs unrecorded. */
    begin(header: string | null, fingerprint: string): Begun {
      if (header === null || header.trim() === '') return { run: UNRECORDED };
      const key = header.trim();
      if (!KEY.test(key)) return { reply: badKey() };
      const known = entries.get(key);
      if (known !== undefined && known.expiresAt > clock.now()) {
        const reply = known.fingerprint === fingerprint ? replyFor(known) : conflict();
        if (reply !== undefined) return { reply };
      }
      const entry: Entry = { fingerprint, expiresAt: clock.now() + KEPT_MS, ending: { kind: 'processing' } };
      entries.set(key, entry);
      return { run: runOf(entry) };
    },
  };
};
