import { type Deadline, untilAborted } from '../../core/async.ts';

/** Concurrent callers with the same key share one piece of work. */
type SharedWork<T> = {
  /**
   * Joins the work under `key`, or starts it. It has its own deadline, which ends with the work, with the reason of the last
   * caller whose signal aborts, or when its time is over.
   */
  readonly join: (key: string, signal: AbortSignal, start: (deadline: Deadline) => Promise<T>) => Promise<T>;
};

type Work<T> = { readonly promise: Promise<T>; readonly deadline: Deadline; callers: number };

/** Creates shared work that holds a key only while its work runs. `newDeadline` makes one for each piece of work. */
export const createSharedWork = <T>(newDeadline: () => Deadline): SharedWork<T> => {
  const running = new Map<string, Work<T>>();

  const begin = (key: string, start: (deadline: Deadline) => Promise<T>): Work<T> => {
    const deadline = newDeadline();
    const over = (): void => {
      if (running.get(key) === work) running.delete(key);
    };
    const promise = start(deadline).then(
      (value) => {
        over();
        deadline.clear();
        return value;
      },
      (error: unknown) => {
        over();
        // One part that failed fails all: the other calls are aborted.
        deadline.end();
        throw error;
      },
    );
    const work: Work<T> = { promise, deadline, callers: 0 };
    running.set(key, work);
    return work;
  };

  return {
    async join(key, signal, start) {
      signal.throwIfAborted();
      const work = running.get(key) ?? begin(key, start);
      work.callers += 1;
      try {
        return await untilAborted(work.promise, signal);
      } finally {
        work.callers -= 1;
        // The next caller must not join aborted work.
        if (work.callers === 0 && running.get(key) === work) {
          running.delete(key);
          work.deadline.end(signal.reason);
        }
      }
    },
  };
};
