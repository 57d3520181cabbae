/** A number of bytes that may be held at a time, by whatever shares the budget. */
export type ByteBudget = {
  /**
   * Takes bytes from the budget. Call what it returns to give them back; undefined where they are not left, or where others
   * wait for theirs.
   */
  readonly tryTake: (bytes: number) => (() => void) | undefined;
  /**
   * The same after everything that came before has got its bytes. What is larger than the whole budget gets it alone. Rejects
   * with the signal's reason when that aborts first.
   */
  readonly take: (bytes: number, signal: AbortSignal) => Promise<() => void>;
  readonly usedBytes: () => number;
  readonly limitBytes: number;
};

/** Amounts up to this are not counted: a reply to a permission request, or an abort, must get through when all is taken. */
export const UNCOUNTED_BYTES = 4096;

type Waiting = { readonly bytes: number; readonly admit: () => void };

/** A budget of `limitBytes`. */
export const createByteBudget = (limitBytes: number): ByteBudget => {
  const queue = new Set<Waiting>();
  let usedBytes = 0;
  const fits = (bytes: number): boolean => usedBytes + bytes <= limitBytes;
  const admitWaiting = (): void => {
    for (const waiting of queue) {
      if (!fits(waiting.bytes)) return;
      queue.delete(waiting);
      waiting.admit();
    }
  };
  const taken = (bytes: number): (() => void) => {
    usedBytes += bytes;
    let isTaken = true;
    return () => {
      if (!isTaken) return;
      isTaken = false;
      usedBytes -= bytes;
      admitWaiting();
    };
  };
  const tryTake: ByteBudget['tryTake'] = (bytes) => {
    if (bytes <= UNCOUNTED_BYTES) return () => {};
    return queue.size === 0 && fits(bytes) ? taken(bytes) : undefined;
  };
  return {
    tryTake,
    async take(asked, signal) {
      signal.throwIfAborted();
      const bytes = Math.min(asked, limitBytes);
      const release = tryTake(bytes);
      if (release !== undefined) return release;
      return new Promise((resolve, reject) => {
        const onAbort = (): void => {
          queue.delete(waiting);
          reject(signal.reason);
          admitWaiting();
        };
        const waiting: Waiting = {
          bytes,
          admit() {
            signal.removeEventListener('abort', onAbort);
            resolve(taken(bytes));
          },
        };
        queue.add(waiting);
        signal.addEventListener('abort', onAbort, { once: true });
      });
    },
    usedBytes: () => usedBytes,
    limitBytes,
  };
};

/** What decides the budget of a service. */
export type MemoryBounds = {
  /** The largest body. It must fit in, or it could never be sent. */
  readonly limitBytes: number;
  /** What an operator has set. */
  readonly budgetBytes: number | undefined;
  /** What the process may use. */
  readonly memoryBytes: number;
};

/**
 * A body, or the messages of a turn, is bytes, then a text, then values, and a text again for the next server: five times its
 * size, and twice that with what is not collected yet.
 */
const MEMORY_PER_BYTE = 10;

/** The one budget of a service, for everything whose size its clients decide. */
export const createServiceBudget = ({ limitBytes, budgetBytes, memoryBytes }: MemoryBounds): ByteBudget =>
  createByteBudget(Math.max(limitBytes, budgetBytes ?? Math.floor(memoryBytes / MEMORY_PER_BYTE)));
