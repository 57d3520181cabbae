import { createDeadline, type Deadline, pause, untilAborted } from '../core/async.ts';
import { Fault } from '../core/fault.ts';
import { type Attempt, attemptRequest } from './attempt.ts';
import { type CallSpans, createCallSpans } from './call-span.ts';
import type { Backend } from './detect.ts';
import type { LlmFault } from './errors.ts';
import type { KeyPool } from './key-pool.ts';
import type { BackendKey, KeyLease, KeyStatus } from './key-state.ts';
import type { ChatCall } from './types.ts';

/** The outcome of one call, for logs and metrics. `key` is a fingerprint. */
export type AttemptRecord = {
  readonly kind: Attempt['kind'] | 'hung';
  readonly key: string;
  readonly model: string;
  readonly durationMs: number;
  readonly reason?: string;
};

type FailoverNeeds = Backend & {
  readonly pool: KeyPool;
  readonly onAttempt: (attempt: AttemptRecord) => void;
};

/** The answer of the first key that got one, or the refusal of the request itself. */
export type ChatAnswer = {
  readonly kind: 'answer';
  readonly outcome: Extract<Attempt, { readonly kind: 'answered' | 'rejected' }>;
  readonly key: BackendKey;
};

/** No key got an answer. `isHostFailure`: the last failure counts against the host. */
export type AllKeysFailed = {
  readonly kind: 'all-keys-failed';
  readonly fault: Fault<LlmFault>;
  readonly isHostFailure: boolean;
};

/** Makes a call with as many keys as needed, each at most once. `avoid` is used only if no other key is left. */
export type Failover = (call: ChatCall, deadline: Deadline, avoid?: BackendKey) => Promise<ChatAnswer | AllKeysFailed>;

/** One call with one key. With other keys left it must not use all of its caller's time. */
type KeyAttempt = {
  readonly call: ChatCall;
  readonly lease: KeyLease;
  readonly deadline: Deadline;
  readonly mayMoveOn: boolean;
};

/** Which key the next call needs: none that was tried, and `avoid` only if no other is left. */
type Wanted = {
  readonly tried: ReadonlySet<BackendKey>;
  readonly model: string;
  readonly avoid: BackendKey | undefined;
};

/** With other keys left, a call may use this share of the remaining time, but at least the time that a slow model needs. */
const ATTEMPT_SHARE = 0.6;
const MIN_ATTEMPT_MS = 8000;

/** How long one call may take with `remainingMs` of its caller's time left. */
export const attemptLimitMs = (remainingMs: number, hasOthers: boolean): number =>
  hasOthers ? Math.max(remainingMs * ATTEMPT_SHARE, Math.min(remainingMs, MIN_ATTEMPT_MS)) : remainingMs;

/** The first wait for a busy backend; each further one is twice as long. */
const BUSY_WAIT_MS = 250;
const MAX_BUSY_WAIT_MS = 2000;
/** How long a client has to wait when the backend was busy until its deadline. */
const BUSY_RETRY_AFTER_MS = 5000;

const allKeysFailed = (detail: LlmFault, isHostFailure: boolean): AllKeysFailed => ({
  kind: 'all-keys-failed',
  fault: new Fault<LlmFault>(detail),
  isHostFailure,
});

/** A busy backend is not a broken one: its host is not blamed. */
const stillBusy = (retryAfterMs = BUSY_RETRY_AFTER_MS): AllKeysFailed =>
  allKeysFailed({ kind: 'overloaded', retryAfterMs }, false);

/** Whether a call ended because its time was over. */
export const isTimeout = (error: unknown): boolean => error instanceof Fault && error.detail.kind === 'backend-timeout';

type State = FailoverNeeds & { readonly spans: CallSpans };

const hasUntriedKey = (
  pool: KeyPool,
  { tried, model }: Pick<Wanted, 'tried' | 'model'>,
  states: readonly KeyStatus['state'][],
): boolean => {
  if (pool.size <= tried.size) return false;
  const spent = new Set([...tried].map(({ fingerprint }) => fingerprint));
  return pool.statuses(model).some(({ state, fingerprint }) => states.includes(state) && !spent.has(fingerprint));
};

const nextLease = async (pool: KeyPool, wanted: Wanted, signal: AbortSignal): Promise<KeyLease | undefined> => {
  const { tried, model, avoid } = wanted;
  const unwanted = avoid === undefined ? tried : new Set([...tried, avoid]);
  for (;;) {
    const lease = pool.take(unwanted, model) ?? pool.take(tried, model);
    const isProbed = lease === undefined && hasUntriedKey(pool, wanted, ['probing']);
    const probeEnd = isProbed ? pool.probeEnd(model) : undefined;
    if (probeEnd === undefined) return lease;
    // Another call probes a key that may become usable: wait for its outcome.
    await untilAborted(probeEnd, signal);
  }
};

/** One call with its own time limit; `hung` when that passes before the caller's deadline. */
const attemptWithinLimit = async (
  state: State,
  { call, lease, deadline, mayMoveOn }: KeyAttempt,
): Promise<Attempt | 'hung'> => {
  const { key } = lease;
  const { span } = deadline;
  if (!mayMoveOn) return attemptRequest(state, call, { key, signal: deadline.signal, span });
  const limit = createDeadline(state.clock, attemptLimitMs(deadline.remainingMs(), true), deadline.signal);
  try {
    return await attemptRequest(state, call, { key, signal: limit.signal, span });
  } catch (error) {
    if (deadline.signal.aborted) throw deadline.signal.reason;
    if (limit.signal.aborted) return 'hung';
    throw error;
  } finally {
    limit.clear();
  }
};

const attemptAndRecord = async (state: State, one: KeyAttempt): Promise<Attempt | 'hung'> => {
  const { clock, spans, onAttempt } = state;
  const { call, lease, deadline } = one;
  const startedAt = clock.now();
  const span = spans.begin(deadline.span, call.model);
  const report = (kind: AttemptRecord['kind'], reason?: string) =>
    onAttempt({
      kind,
      key: lease.key.fingerprint,
      model: call.model,
      durationMs: clock.now() - startedAt,
      ...(reason === undefined ? {} : { reason }),
    });
  try {
    const outcome = await attemptWithinLimit(state, { ...one, deadline: { ...deadline, span } });
    spans.end(span, outcome);
    if (outcome === 'hung') report('hung');
    else report(outcome.kind, 'reason' in outcome ? outcome.reason : undefined);
    return outcome;
  } catch (error) {
    spans.end(span, error instanceof Fault ? error.detail : { kind: 'bug' });
    // Nothing is known about the key: the caller disconnected, its time ran out, or there is a bug.
    lease.release();
    if (isTimeout(error)) report('hung');
    throw error;
  }
};

/** Creates a failover over the pool's keys, within the deadline. Throws only the deadline's own fault, or a bug. */
export const createFailover = (needs: FailoverNeeds): Failover => {
  const { pool, clock } = needs;
  const state: State = { ...needs, spans: createCallSpans(needs.baseUrl) };
  return async (call, deadline, avoid) => {
    const { model } = call;
    const tried = new Set<BackendKey>();
    let last: AllKeysFailed | undefined;
    let busyWaits = 0;
    for (;;) {
      deadline.signal.throwIfAborted();
      const lease = await nextLease(pool, { tried, model, avoid }, deadline.signal);
      if (lease === undefined)
        return last ?? allKeysFailed({ kind: 'no-backend-key', retryAfterMs: pool.waitMs(model) }, false);
      const { key } = lease;
      tried.add(key);
      const mayMoveOn = hasUntriedKey(pool, { tried, model }, ['active', 'half-open']);
      const outcome = await attemptAndRecord(state, { call, lease, deadline, mayMoveOn }).catch((error: unknown) => {
        // It was busy, and took the call in the end, too late.
        if (busyWaits > 0 && isTimeout(error)) return stillBusy();
        throw error;
      });
      if (outcome === 'hung') {
        lease.release();
        last = allKeysFailed({ kind: 'backend-timeout' }, true);
      } else if (outcome.kind === 'all-keys-failed') {
        return outcome;
      } else if (outcome.kind === 'busy') {
        lease.release();
        const growingMs = Math.min(BUSY_WAIT_MS * 2 ** busyWaits, MAX_BUSY_WAIT_MS);
        const waitMs = Math.max(outcome.retryAfterMs ?? 0, growingMs);
        if (waitMs >= deadline.remainingMs()) return stillBusy(outcome.retryAfterMs);
        await pause(clock, waitMs, deadline.signal);
        busyWaits += 1;
        tried.delete(key);
      } else if (outcome.kind === 'refused') {
        lease.refuse(outcome.refusal);
      } else if (outcome.kind === 'failed') {
        lease.release();
        last = allKeysFailed({ kind: 'backend-error', reason: outcome.reason }, outcome.isHostFailure);
      } else {
        // Only a finished answer proves the key; a captive portal or a refused body does not.
        if (outcome.kind === 'answered' && outcome.reply.kind === 'answered') lease.succeed();
        else lease.release();
        return { kind: 'answer', outcome, key };
      }
    }
  };
};
