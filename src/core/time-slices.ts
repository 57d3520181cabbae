import { untilAborted } from './async.ts';
import type { Clock } from './clock.ts';

/**
 * Work that can be interrupted: a generator that yields wherever that is allowed. What it does between two yields is not
 * interrupted, so that has to be short.
 */
export type Steps<T> = Generator<undefined, T>;

/**
 * Runs steps to their result. Rejects with the signal's reason as soon as it aborts, and the rest is not done. `owner` says
 * whose work it is: of those that wait, the owner that has used the least time goes on. Owners must be few, they are kept.
 */
export type RunInSlices = <T>(steps: Steps<T>, signal: AbortSignal, owner?: string) => Promise<T>;

/** Runs steps to their result without a pause: for work that is known to be short, or where nothing else waits. */
export const runAtOnce = <T>(steps: Steps<T>): T => {
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
  }
};

/**
 * The same runner, but the first step of all work runs at once: what takes no more than that never waits for other work, and
 * requests that are short keep their order.
 */
export const beginAtOnce =
  (runInSlices: RunInSlices): RunInSlices =>
  async (steps, signal) => {
    signal.throwIfAborted();
    const first = steps.next();
    return first.done ? first.value : runInSlices(steps, signal);
  };

/** A fifth of what an event loop may be held for: the last step before a turn comes on top. */
const SLICE_MS = 10;

/** What an owner has used, and its callers: all that run, and those of them that wait for a turn. */
type Share = { usedMs: number; callers: number; readonly waiting: Set<() => void> };

/**
 * Creates a runner that gives the event loop a turn after every `sliceMs` of work, whichever of its callers did it. Owners
 * take turns, and so do the callers of an owner: a short text does not wait for a long one, nor for the many of another
 * owner. All that runs in one process should share one runner.
 */
export const createTimeSlices = (clock: Clock, sliceMs: number = SLICE_MS): RunInSlices => {
  const shares = new Map<string, Share>();
  let usedMs = 0;
  let isTurnAsked = false;
  /** What the owner had used that worked last: one that comes, or comes back, starts there, and has saved nothing up. */
  let commonMs = 0;

  /** The owner that has used the least of those that wait. */
  const nextInTurn = (): Share | undefined => {
    let next: Share | undefined;
    for (const share of shares.values())
      if (share.waiting.size > 0 && (next === undefined || share.usedMs < next.usedMs)) next = share;
    return next;
  };

  /** Wakes one caller at a time: what it goes on to do with its result has the rest of that turn. */
  const askForTurn = (): void => {
    if (isTurnAsked) return;
    isTurnAsked = true;
    clock.after(0, () => {
      usedMs = 0;
      isTurnAsked = false;
      const [wake] = nextInTurn()?.waiting ?? [];
      wake?.();
    });
  };

  const untilWoken = async ({ waiting }: Share, signal: AbortSignal): Promise<void> => {
    const { promise, resolve } = Promise.withResolvers<void>();
    waiting.add(resolve);
    askForTurn();
    try {
      await untilAborted(promise, signal);
    } finally {
      waiting.delete(resolve);
    }
  };

  const enter = (owner: string): Share => {
    const share = shares.get(owner) ?? { usedMs: 0, callers: 0, waiting: new Set() };
    shares.set(owner, share);
    if (share.callers === 0) share.usedMs = Math.max(share.usedMs, commonMs);
    share.callers += 1;
    return share;
  };

  const mustWait = (share: Share): boolean =>
    usedMs >= sliceMs || (isTurnAsked && (nextInTurn() ?? share).usedMs < share.usedMs);

  return async (steps, signal, owner = '') => {
    const share = enter(owner);
    try {
      if (mustWait(share)) await untilWoken(share, signal);
      for (;;) {
        while (usedMs >= sliceMs) await untilWoken(share, signal);
        signal.throwIfAborted();
        const startedAt = clock.now();
        commonMs = Math.max(commonMs, share.usedMs);
        const step = steps.next();
        const stepMs = Math.max(0, clock.now() - startedAt);
        usedMs += stepMs;
        share.usedMs += stepMs;
        if (step.done) return step.value;
      }
    } finally {
      share.callers -= 1;
      if (nextInTurn() !== undefined) askForTurn();
    }
  };
};
