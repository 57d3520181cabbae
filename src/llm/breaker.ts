import { createDeadline, type Deadline } from '../core/async.ts';
import type { Clock } from '../core/clock.ts';
import { Fault } from '../core/fault.ts';
import { startCoolDown } from '../core/retry.ts';
import type { LlmFault } from './errors.ts';
import { type ChatAnswer, type Failover, isTimeout } from './failover.ts';
import type { BackendKey } from './key-state.ts';
import type { ChatCall } from './types.ts';

/** A request that may go to the host. The first call of `succeed`, `fail` or `release` counts, later ones do nothing. */
export type Admission = {
  /** The one request after a cool-down, whose end says whether the host is back. */
  readonly isTrial: boolean;
  readonly succeed: () => void;
  /** The whole request failed because of the host: 5xx, network, no answer. */
  readonly fail: () => void;
  /** Neither: the caller disconnected, or only keys were refused, which proves that the host answers. */
  readonly release: () => void;
};

/** The breaker's state, and what is left of its cool-down. */
export type BreakerStatus = { readonly state: 'closed' | 'open' | 'half-open'; readonly coolDownMs: number };

/** A circuit breaker for one host. */
export type Breaker = {
  /** Undefined during the cool-down, and while the one trial request after it runs. */
  readonly admit: () => Admission | undefined;
  /** Milliseconds until a request may be admitted, 0 when now. A running trial counts as one second. */
  readonly waitMs: () => number;
  readonly status: () => BreakerStatus;
};

type BreakerLimits = {
  /** How many requests have to fail in a row. */
  readonly failures: number;
  /** The first cool-down; each failed trial doubles it. */
  readonly coolDownMs: number;
  readonly maxCoolDownMs: number;
};

const TRIAL_WAIT_MS = 1_000;

/**
 * Creates a breaker that stops sending to a host that fails. It counts requests, not calls: a request that succeeded with
 * another key is a success. `onChange` reports opening and closing; only `status()` shows the end of a cool-down.
 */
export const createBreaker = (
  now: () => number,
  { failures, coolDownMs, maxCoolDownMs }: BreakerLimits,
  onChange: (status: BreakerStatus) => void = () => {},
): Breaker => {
  let leftMs: (() => number) | undefined;
  let openings = 0;
  let failuresInARow = 0;
  let strikes = 0;
  let isTrialRunning = false;

  const status = (): BreakerStatus => {
    if (leftMs === undefined) return { state: 'closed', coolDownMs: 0 };
    const left = isTrialRunning ? 0 : leftMs();
    return { state: left > 0 ? 'open' : 'half-open', coolDownMs: left };
  };
  const open = (): void => {
    leftMs = startCoolDown(now, Math.min(coolDownMs * 2 ** strikes, maxCoolDownMs));
    openings += 1;
    strikes += 1;
    isTrialRunning = false;
    onChange(status());
  };
  const close = (): void => {
    failuresInARow = 0;
    if (leftMs === undefined) return;
    leftMs = undefined;
    strikes = 0;
    isTrialRunning = false;
    onChange(status());
  };
  const countFailure = (): void => {
    failuresInARow += 1;
    if (leftMs !== undefined || failuresInARow >= failures) open();
  };

  const admission = (isTrial: boolean): Admission => {
    const before = openings;
    let isOpen = true;
    const once = (end: () => void) => (): void => {
      if (!isOpen) return;
      isOpen = false;
      // The breaker opened since this request began: its trial request gives the newer result.
      if (openings === before) end();
    };
    const free = (): void => {
      isTrialRunning = false;
    };
    return { isTrial, succeed: once(close), fail: once(countFailure), release: once(free) };
  };

  return {
    admit() {
      if (leftMs !== undefined && (isTrialRunning || leftMs() > 0)) return undefined;
      isTrialRunning = leftMs !== undefined;
      return admission(isTrialRunning);
    },
    waitMs: () => (isTrialRunning ? TRIAL_WAIT_MS : (leftMs?.() ?? 0)),
    status,
  };
};

/**
 * Calls the backend. Faults: `no-backend-key` when every key is cooling down, `backend-error` when the host failed with
 * every key or the breaker is open, `backend-timeout` and `client-left` from the deadline.
 */
export type Upstream = (call: ChatCall, deadline: Deadline, avoid?: BackendKey) => Promise<ChatAnswer>;

/** A timeout of a caller with less time than this is no evidence against the host. */
const MIN_HANG_MS = 8000;

const BREAKER_IS_OPEN = new Fault<LlmFault>({
  kind: 'backend-error',
  reason: 'it failed several times in a row and is not called for a moment',
});

const isHangOfHost = (error: unknown, durationMs: number): boolean => isTimeout(error) && durationMs >= MIN_HANG_MS;

const isLeft = (reason: unknown): reason is Fault => reason instanceof Fault && reason.detail.kind === 'client-left';

/**
 * The time of a breaker's trial: that of its caller, but it goes on when the caller leaves. A request of several calls fails because
 * the breaker refuses all but the trial, and would end it each time: the breaker would never close.
 */
const createTrialDeadline = (clock: Clock, caller: Deadline): Deadline => {
  if (caller.signal.aborted) return caller;
  let left: Fault | undefined;
  const own = createDeadline(
    clock,
    caller.remainingMs(),
    undefined,
    () => left ?? new Fault({ kind: 'backend-timeout' }),
  );
  const follow = (): void => {
    const { reason } = caller.signal;
    if (isLeft(reason)) left = reason;
    else own.end(reason);
  };
  caller.signal.addEventListener('abort', follow, { once: true });
  return {
    ...own,
    clear() {
      own.clear();
      caller.signal.removeEventListener('abort', follow);
    },
  };
};

/**
 * Puts a failover behind a breaker, so that a failing host gets no calls for a while. A trial settles when it ends, also where its
 * caller has left before.
 */
export const createUpstream =
  (failover: Failover, breaker: Breaker, clock: Clock): Upstream =>
  async (call, deadline, avoid) => {
    const admission = breaker.admit();
    if (admission === undefined) throw BREAKER_IS_OPEN;
    const startedAt = clock.now();
    const own = admission.isTrial ? createTrialDeadline(clock, deadline) : deadline;
    try {
      const answer = await failover(call, own, avoid);
      if (answer.kind === 'answer') {
        admission.succeed();
        return answer;
      }
      if (answer.isHostFailure) admission.fail();
      throw answer.fault;
    } catch (error) {
      if (isHangOfHost(error, clock.now() - startedAt)) admission.fail();
      throw error;
    } finally {
      if (own !== deadline) own.clear();
      admission.release();
    }
  };
