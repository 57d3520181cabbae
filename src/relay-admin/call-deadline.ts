import { createDeadline, type Deadline } from '../core/async.ts';
import type { Clock } from '../core/clock.ts';

/** The time limit and the cancellation of one tool call. */
export type CallDeadline = {
  /** Aborts when the caller cancels or the time is over: for everything before a change is sent. */
  readonly signal: AbortSignal;
  /** Aborts with the time alone: a change that was sent is followed to its end, even if the caller has cancelled. */
  readonly sentSignal: AbortSignal;
  /** The whole time of the call. */
  readonly limitMs: number;
  readonly remainingMs: () => number;
};

/** Runs `body` under one time limit and clears its timers afterwards. */
export const withCallDeadline = async <T>(
  clock: Clock,
  { limitMs, signal }: { readonly limitMs: number; readonly signal: AbortSignal },
  body: (call: CallDeadline) => Promise<T>,
): Promise<T> => {
  const whole: Deadline = createDeadline(clock, limitMs);
  const cancellable: Deadline = createDeadline(clock, limitMs, signal);
  try {
    return await body({
      signal: cancellable.signal,
      sentSignal: whole.signal,
      limitMs,
      remainingMs: whole.remainingMs,
    });
  } finally {
    // A read whose result no one waits for must not keep its slot.
    cancellable.end();
    whole.clear();
  }
};
