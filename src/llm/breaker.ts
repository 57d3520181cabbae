import { startCoolDown } from '../core/retry.ts';

/** A request that may go to the host. The first of the three verbs counts, later ones do nothing. */
export type Admission = {
  readonly succeed: () => void;
  /** The whole request failed for reasons of the host: 5xx, network, silence. */
  readonly fail: () => void;
  /** Neither: the caller left, or only keys were refused, which takes a host that is alive. */
  readonly release: () => void;
};

export type BreakerStatus = { readonly state: 'closed' | 'open' | 'half-open'; readonly restMs: number };

export type Breaker = {
  /** Nothing while the host rests, and while the one trial request after its rest is under way. */
  readonly admit: () => Admission | undefined;
  /** Milliseconds until a request may be admitted, 0 when now. A running trial counts as one second. */
  readonly waitMs: () => number;
  readonly status: () => BreakerStatus;
};

export type BreakerLimits = {
  /** So many requests have to fail in a row. */
  readonly failures: number;
  /** The first rest; each failed trial doubles it. */
  readonly restMs: number;
  readonly longestRestMs: number;
};

const TRIAL_WAIT_MS = 1_000;

/**
 * Stops sending to a host that answers nobody. Counts requests, not calls: a request that another key saved is a success.
 * `onChange` hears of opening and closing; that a rest is over shows only in `status()`.
 */
export const createBreaker = (
  now: () => number,
  { failures, restMs, longestRestMs }: BreakerLimits,
  onChange: (status: BreakerStatus) => void = () => {},
): Breaker => {
  let leftMs: (() => number) | undefined;
  let openings = 0;
  let inARow = 0;
  let strikes = 0;
  let isTried = false;

  const status = (): BreakerStatus => {
    if (leftMs === undefined) return { state: 'closed', restMs: 0 };
    const left = isTried ? 0 : leftMs();
    return { state: left > 0 ? 'open' : 'half-open', restMs: left };
  };
  const open = (): void => {
    leftMs = startCoolDown(now, Math.min(restMs * 2 ** strikes, longestRestMs));
    openings += 1;
    strikes += 1;
    isTried = false;
    onChange(status());
  };
  const close = (): void => {
    inARow = 0;
    if (leftMs === undefined) return;
    leftMs = undefined;
    strikes = 0;
    isTried = false;
    onChange(status());
  };
  const countFailure = (): void => {
    inARow += 1;
    if (leftMs !== undefined || inARow >= failures) open();
  };

  const admission = (): Admission => {
    const before = openings;
    let isOpen = true;
    const once = (end: () => void) => (): void => {
      if (!isOpen) return;
      isOpen = false;
      // A request from before the opening failed with those that caused it, or says what the trial will say better.
      if (openings === before) end();
    };
    const free = (): void => {
      isTried = false;
    };
    return { succeed: once(close), fail: once(countFailure), release: once(free) };
  };

  return {
    admit() {
      if (leftMs !== undefined && (isTried || leftMs() > 0)) return undefined;
      isTried = leftMs !== undefined;
      return admission();
    },
    waitMs: () => (isTried ? TRIAL_WAIT_MS : (leftMs?.() ?? 0)),
    status,
  };
};
