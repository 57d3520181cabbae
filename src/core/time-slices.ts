import { untilAborted } from './async.ts';
import type { Clock } from './clock.ts';

/**
 * Work that can be interrupted: a generator that yields wherever that is allowed. What it does between two yields is not
 * interrupted, so that has to be short.
 */
export type Steps<T> = Generator<undefined, T>;

/** Runs steps to their result. Rejects with the signal's reason as soon as it aborts, and the rest is not done. */
export type RunInSlices = <T>(steps: Steps<T>, signal: AbortSignal) => Promise<T>;

/** A fifth of what an event loop may be held for: the last step before a turn comes on top. */
const SLICE_MS = 10;

/**
 * Creates a runner that gives the event loop a turn after every `sliceMs` of work, whichever of its callers did it. Callers
 * take turns, so that a short text does not wait for a long one. All that runs in one process should share one runner.
 */
export const createTimeSlices = (clock: Clock, sliceMs: number = SLICE_MS): RunInSlices => {
  const waiting = new Set<() => void>();
  let usedMs = 0;
  let isTurnAsked = false;

  /** Wakes one caller at a time: what it goes on to do with its result has the rest of that turn. */
  const askForTurn = (): void => {
    if (isTurnAsked) return;
    isTurnAsked = true;
    clock.after(0, () => {
      usedMs = 0;
      isTurnAsked = false;
      const [next] = waiting;
      next?.();
    });
  };

  const untilWoken = async (signal: AbortSignal): Promise<void> => {
    const { promise, resolve } = Promise.withResolvers<void>();
    waiting.add(resolve);
    askForTurn();
    try {
      await untilAborted(promise, signal);
    } finally {
      waiting.delete(resolve);
    }
  };

  return async (steps, signal) => {
    try {
      for (;;) {
        while (usedMs >= sliceMs) await untilWoken(signal);
        signal.throwIfAborted();
        const startedAt = clock.now();
        const step = steps.next();
        usedMs += Math.max(0, clock.now() - startedAt);
        if (step.done) return step.value;
      }
    } finally {
      if (waiting.size > 0) askForTurn();
    }
  };
};
