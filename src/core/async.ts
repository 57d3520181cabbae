import type { Clock } from './clock.ts';
import { Fault } from './fault.ts';
import type { Span } from './http/tracing.ts';

/** A signal that ends when the caller disconnects or its time is over, whichever comes first; `reason` is always a `Fault`. */
export type Deadline = {
  readonly signal: AbortSignal;
  readonly remainingMs: () => number;
  /** The operation of a trace that the time is for, where there is a trace. */
  readonly span?: Span | undefined;
  /** Ends the timer and removes the listener from the caller's signal. Call it in a `finally`. */
  readonly clear: () => void;
  /** Aborts what still runs under it, and clears. The reason is that of the caller, or the one given. */
  readonly end: (reason?: Fault) => void;
};

const timeout = (): Fault => new Fault({ kind: 'backend-timeout' });
/** One for all: a deadline ends with each call, and the stack of an error costs more than the deadline. */
const LEFT = new Fault({ kind: 'client-left' });

/**
 * One controller per request: cheaper by far than `AbortSignal.any` over `AbortSignal.timeout`. `overReason` makes the reason when the
 * time is over, a timeout of the backend unless it is another one.
 */
export const createDeadline = (
  clock: Clock,
  limitMs: number,
  client?: AbortSignal,
  overReason: () => Fault = timeout,
): Deadline => {
  const controller = new AbortController();
  const endsAt = clock.now() + limitMs;
  const cancelTimer = clock.after(limitMs, () => controller.abort(overReason()));
  // Work that is shared is left for its callers' reasons: a deadline of theirs is no departure.
  const leave = () => controller.abort(client?.reason instanceof Fault ? client.reason : LEFT);
  if (client?.aborted) leave();
  else client?.addEventListener('abort', leave, { once: true });
  const clear = () => {
    cancelTimer();
    client?.removeEventListener('abort', leave);
  };
  return {
    signal: controller.signal,
    remainingMs: () => Math.max(0, endsAt - clock.now()),
    clear,
    end(reason) {
      clear();
      if (reason === undefined) leave();
      else controller.abort(reason);
    },
  };
};

/** Settles like `promise`, or rejects with the signal's reason as soon as it aborts. The promise itself goes on. */
export const untilAborted = <T>(promise: Promise<T>, signal: AbortSignal): Promise<T> =>
  new Promise((resolve, reject) => {
    const leave = () => reject(signal.reason);
    if (signal.aborted) leave();
    else signal.addEventListener('abort', leave, { once: true });
    // Too late to matter, a rejection must still have a handler: without one it would end the process.
    promise.then(
      (value) => {
        signal.removeEventListener('abort', leave);
        resolve(value);
      },
      (error: unknown) => {
        signal.removeEventListener('abort', leave);
        reject(error);
      },
    );
  });

/** Waits, or rejects with the signal's reason as soon as it aborts. */
export const pause = (clock: Clock, ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const leave = () => {
      cancel();
      reject(signal.reason);
    };
    const cancel = clock.after(ms, () => {
      signal.removeEventListener('abort', leave);
      resolve();
    });
    signal.addEventListener('abort', leave, { once: true });
  });

/** Settles after `ms`, or earlier when `woken` does. Rejects with the signal's reason when that aborts. */
export const pauseUntil = (
  clock: Clock,
  { ms, woken }: { readonly ms: number; readonly woken: Promise<void> },
  signal: AbortSignal,
): Promise<void> => {
  const over = Promise.withResolvers<void>();
  const cancel = clock.after(ms, over.resolve);
  woken.then(over.resolve, over.reject);
  return untilAborted(over.promise, signal).finally(cancel);
};
