import { startCoolDown } from '../core/retry.ts';

/** A request that may go to the host. The first call of `succeed`, `fail` or `release` counts, later ones do nothing. */
export type Admission = {
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

  const admission = (): Admission => {
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
    return { succeed: once(close), fail: once(countFailure), release: once(free) };
  };

  return {
    admit() {
      if (leftMs !== undefined && (isTrialRunning || leftMs() > 0)) return undefined;
      isTrialRunning = leftMs !== undefined;
      return admission();
    },
    waitMs: () => (isTrialRunning ? TRIAL_WAIT_MS : (leftMs?.() ?? 0)),
    status,
  };
};
