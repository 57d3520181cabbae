import { createDeadline, type Deadline } from '../core/async.ts';
import type { Clock } from '../core/clock.ts';

/** The time and the patience of one tool call. */
export type ToolCall = {
  /** Ends when the caller cancels or the time is over: for everything before a change is sent. */
  readonly signal: AbortSignal;
  /** Ends with the time alone: a change that was sent is followed to its end, whoever has left. */
  readonly sentSignal: AbortSignal;
  readonly limitMs: number;
  readonly remainingMs: () => number;
};

/** Runs `body` under one limit of time and lets go of its timers. */
export const withinTime = async <T>(
  clock: Clock,
  { limitMs, signal }: { readonly limitMs: number; readonly signal: AbortSignal },
  body: (call: ToolCall) => Promise<T>,
): Promise<T> => {
  const whole: Deadline = createDeadline(clock, limitMs);
  const before: Deadline = createDeadline(clock, limitMs, signal);
  try {
    return await body({ signal: before.signal, sentSignal: whole.signal, limitMs, remainingMs: whole.remainingMs });
  } finally {
    // A read that nobody waits for any more must not keep its place.
    before.end();
    whole.clear();
  }
};
