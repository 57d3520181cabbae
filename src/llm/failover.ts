import { createDeadline, type Deadline, untilAborted } from '../core/async.ts';
import type { Clock } from '../core/clock.ts';
import { Fault } from '../core/fault.ts';
import { type Attempt, type AttemptNeeds, attemptRequest } from './attempt.ts';
import type { Breaker } from './breaker.ts';
import type { BackendKey, KeyPool, KeyStatus, Lease } from './key-pool.ts';
import type { ChatCall } from './types.ts';

/** What became of one call, for logs and metrics. */
export type AttemptRecord = {
  readonly kind: Attempt['kind'] | 'hung';
  readonly key: string;
  readonly model: string;
  readonly durationMs: number;
  readonly reason?: string;
};

export type FailoverNeeds = AttemptNeeds & {
  readonly pool: KeyPool;
  readonly clock: Clock;
  readonly onAttempt: (facts: AttemptRecord) => void;
};

/** What the first key that could answer said, or that the request itself was not wanted. */
export type ChatAnswer = {
  readonly kind: 'answer';
  readonly outcome: Extract<Attempt, { readonly kind: 'answered' | 'rejected' }>;
  readonly key: BackendKey;
};

/** No key could answer; `isHostTrouble` tells whether that speaks against the host. */
export type AllKeysFailed = { readonly kind: 'gave-up'; readonly fault: Fault; readonly isHostFailure: boolean };

/** One question over as many keys as it takes, each at most once. `avoid` is taken only if no other key is left. */
export type Failover = (call: ChatCall, deadline: Deadline, avoid?: BackendKey) => Promise<ChatAnswer | AllKeysFailed>;

/** One call with one key. With other keys left it may not use up all of its caller's time. */
type Try = {
  readonly call: ChatCall;
  readonly lease: Lease;
  readonly deadline: Deadline;
  readonly mayMoveOn: boolean;
};

/** With other keys left, one call may use most of the time but not all of it, and never less than a slow model needs. */
const ATTEMPT_SHARE = 0.6;
const SLOW_MODEL_MS = 8000;

/** How long one call may take when so much of its caller's time is left. */
export const attemptLimitMs = (remainingMs: number, hasOthers: boolean): number =>
  hasOthers ? Math.max(remainingMs * ATTEMPT_SHARE, Math.min(remainingMs, SLOW_MODEL_MS)) : remainingMs;

/** Moves a question from key to key while the deadline allows. Throws only the deadline's own fault, or a bug. */
export const createFailover = (needs: FailoverNeeds): Failover => {
  const { pool, clock, onAttempt } = needs;

  const isLeft = (tried: ReadonlySet<BackendKey>, states: readonly KeyStatus['state'][]): boolean => {
    if (pool.size <= tried.size) return false;
    const spent = new Set([...tried].map(({ fingerprint }) => fingerprint));
    return pool.statuses().some(({ state, fingerprint }) => states.includes(state) && !spent.has(fingerprint));
  };

  const nextLease = async (
    tried: ReadonlySet<BackendKey>,
    avoid: BackendKey | undefined,
    signal: AbortSignal,
  ): Promise<Lease | undefined> => {
    const unwanted = avoid === undefined ? tried : new Set([...tried, avoid]);
    for (;;) {
      const lease = pool.take(unwanted) ?? pool.take(tried);
      const probeEnd = lease === undefined && isLeft(tried, ['probing']) ? pool.probeEnd() : undefined;
      if (probeEnd === undefined) return lease;
      // Another call is trying a key that may come back: its outcome is worth waiting for.
      await untilAborted(probeEnd, signal);
    }
  };

  /** One call that may end before its caller's deadline does; then it hung. */
  const attempt = async ({ call, lease, deadline, mayMoveOn }: Try): Promise<Attempt | 'hung'> => {
    const { key } = lease;
    if (!mayMoveOn) return attemptRequest(needs, call, { key, signal: deadline.signal });
    const limit = createDeadline(clock, attemptLimitMs(deadline.remainingMs(), true), deadline.signal);
    try {
      return await attemptRequest(needs, call, { key, signal: limit.signal });
    } catch (error) {
      if (deadline.signal.aborted) throw deadline.signal.reason;
      if (limit.signal.aborted) return 'hung';
      throw error;
    } finally {
      limit.clear();
    }
  };

  const timed = async (one: Try): Promise<Attempt | 'hung'> => {
    const { call, lease } = one;
    const startedAt = clock.now();
    const tell = (kind: AttemptRecord['kind'], reason?: string) =>
      onAttempt({
        kind,
        key: lease.key.fingerprint,
        model: call.model,
        durationMs: clock.now() - startedAt,
        ...(reason === undefined ? {} : { reason }),
      });
    try {
      const outcome = await attempt(one);
      if (outcome === 'hung') tell('hung');
      else tell(outcome.kind, 'reason' in outcome ? outcome.reason : undefined);
      return outcome;
    } catch (error) {
      // Nothing is known about the key: the caller left or its time ran out, or there is a bug.
      lease.release();
      if (error instanceof Fault && error.detail.kind === 'backend-timeout') tell('hung');
      throw error;
    }
  };

  return async (call, deadline, avoid) => {
    const tried = new Set<BackendKey>();
    let last: AllKeysFailed | undefined;
    for (;;) {
      deadline.signal.throwIfAborted();
      const lease = await nextLease(tried, avoid, deadline.signal);
      if (lease === undefined) {
        const retryAfterMs = pool.waitMs();
        return (
          last ?? { kind: 'gave-up', fault: new Fault({ kind: 'no-backend-key', retryAfterMs }), isHostFailure: false }
        );
      }
      const { key } = lease;
      tried.add(key);
      const mayMoveOn = isLeft(tried, ['active', 'half-open']);
      const outcome = await timed({ call, lease, deadline, mayMoveOn });
      if (outcome === 'hung') {
        lease.release();
        last = { kind: 'gave-up', fault: new Fault({ kind: 'backend-timeout' }), isHostFailure: true };
      } else if (outcome.kind === 'refused') {
        lease.refuse(outcome.refusal);
      } else if (outcome.kind === 'failed') {
        lease.release();
        const fault = new Fault({ kind: 'backend-error', reason: outcome.reason });
        last = { kind: 'gave-up', fault, isHostFailure: outcome.isHostFailure };
      } else {
        // Only a finished answer proves the key; a captive portal or a refused body does not.
        if (outcome.kind === 'answered' && outcome.reply.kind === 'answered') lease.succeed();
        else lease.release();
        return { kind: 'answer', outcome, key };
      }
    }
  };
};

/**
 * Asks the backend. Faults: `no-backend-key` when every key is cooling down, `backend-error` when the host failed with
 * every key or is being left alone, `backend-timeout` and `client-left` from the deadline.
 */
export type Upstream = (call: ChatCall, deadline: Deadline, avoid?: BackendKey) => Promise<ChatAnswer>;

/** A caller in more of a hurry than this says nothing about the host by leaving. */
const HANG_MS = 8000;

const LEFT_ALONE = new Fault({
  kind: 'backend-error',
  reason: 'it failed several times in a row and is left alone for a moment',
});

const isHang = (error: unknown, durationMs: number): boolean =>
  error instanceof Fault && error.detail.kind === 'backend-timeout' && durationMs >= HANG_MS;

/** A failover behind a breaker: a host that answers nobody is not hammered. */
export const createUpstream =
  (failover: Failover, breaker: Breaker, clock: Clock): Upstream =>
  async (call, deadline, avoid) => {
    const admission = breaker.admit();
    if (admission === undefined) throw LEFT_ALONE;
    const startedAt = clock.now();
    try {
      const answer = await failover(call, deadline, avoid);
      if (answer.kind === 'answer') {
        admission.succeed();
        return answer;
      }
      if (answer.isHostFailure) admission.fail();
      throw answer.fault;
    } catch (error) {
      if (isHang(error, clock.now() - startedAt)) admission.fail();
      throw error;
    } finally {
      admission.release();
    }
  };
