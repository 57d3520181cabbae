import { Fault } from './fault.ts';

/** Admits a limited number, and a limited number may wait. */
export type Semaphore = {
  /** Waits for a place; the returned function gives it back, once. Faults with `overloaded` when the queue is full. */
  readonly acquire: (signal: AbortSignal) => Promise<() => void>;
  /** A place if one is free this very moment, for work that is welcome but not needed. */
  readonly tryAcquire: () => (() => void) | undefined;
  /**
   * A place if one is free, until another caller wants it: then that one has it at once, and `onTaken` is called. For work that no
   * request waits for.
   */
  readonly tryBorrow: (onTaken: () => void) => (() => void) | undefined;
  readonly running: () => number;
  readonly waiting: () => number;
};

/** A full queue empties within about one verdict's time. */
const RETRY_AFTER_MS = 1000;

export const createSemaphore = (places: number, queueLimit: number): Semaphore => {
  const queue = new Set<() => void>();
  const borrowed = new Set<{ readonly onTaken: () => void }>();
  let running = 0;

  const leaveOnce = (): (() => void) => {
    let left = false;
    return () => {
      if (left) return;
      left = true;
      const [next] = queue;
      if (next === undefined) running -= 1;
      else {
        queue.delete(next);
        next();
      }
    };
  };
  const enterFree = (): (() => void) | undefined => {
    if (running >= places) return undefined;
    running += 1;
    return leaveOnce();
  };
  const tryEnter = (): (() => void) | undefined => {
    const leave = enterFree();
    const [borrower] = borrowed;
    if (leave !== undefined || borrower === undefined) return leave;
    // The place goes over: as many run as before.
    borrowed.delete(borrower);
    borrower.onTaken();
    return leaveOnce();
  };
  const queued = (signal: AbortSignal): Promise<() => void> =>
    new Promise((resolve, reject) => {
      const admit = () => {
        signal.removeEventListener('abort', giveUp);
        resolve(leaveOnce());
      };
      const giveUp = () => {
        queue.delete(admit);
        reject(signal.reason);
      };
      queue.add(admit);
      signal.addEventListener('abort', giveUp, { once: true });
    });

  return {
    async acquire(signal) {
      signal.throwIfAborted();
      const release = tryEnter();
      if (release !== undefined) return release;
      if (queue.size >= queueLimit) throw new Fault({ kind: 'overloaded', retryAfterMs: RETRY_AFTER_MS });
      return queued(signal);
    },
    tryAcquire: tryEnter,
    tryBorrow(onTaken) {
      const leave = enterFree();
      if (leave === undefined) return undefined;
      const borrower = { onTaken };
      borrowed.add(borrower);
      return () => {
        if (borrowed.delete(borrower)) leave();
      };
    },
    running: () => running,
    waiting: () => queue.size,
  };
};
