/** Gives bytes back that were taken: all, or all but `keptBytes`, which a later call gives back. */
export type GiveBack = (keptBytes?: number) => void;

/** A number of bytes that may be held at a time, by whatever shares the budget. */
export type ByteBudget = {
  /** Takes bytes from the budget. Call what it returns to give them back; undefined where they are not left. */
  readonly tryTake: (bytes: number) => GiveBack | undefined;
  /**
   * The same once the bytes are left. What fits may pass those that wait for more, as long as they could begin beside it, and
   * a few times where they could not: so no one waits for ever, and a large one does not stop the small. Rejects with a
   * `RangeError` for more than the whole budget, and with the signal's reason when that aborts first.
   */
  readonly take: (bytes: number, signal: AbortSignal) => Promise<GiveBack>;
  /**
   * Holds bytes of something that can be had again, until others need them: `onWanted` is then called and must drop it at
   * once, the oldest of all that is kept first. Call what it returns to give them back before; undefined where they are not
   * left, or others wait.
   */
  readonly keep: (bytes: number, onWanted: () => void) => (() => void) | undefined;
  readonly usedBytes: () => number;
  readonly limitBytes: number;
};

/** Amounts up to this are not counted: a reply to a permission request, or an abort, must get through when all is taken. */
export const UNCOUNTED_BYTES = 4096;

/** How often those that wait are passed by others that they could not begin beside. */
const PASSES_LIMIT = 16;

type Waiting = {
  readonly bytes: number;
  readonly admit: (passed: readonly Waiting[]) => void;
  /** What those hold that were admitted before it and came after it. */
  passedBytes: number;
  /** How often one of them took what it needs itself. */
  passes: number;
};

/** What is held only until others need its bytes. */
type Kept = { readonly bytes: number; readonly onWanted: () => void };

/** A budget of `limitBytes`. */
export const createByteBudget = (limitBytes: number): ByteBudget => {
  const queue = new Set<Waiting>();
  /** Empty while anything waits. */
  const kept = new Set<Kept>();
  let keptBytes = 0;
  let usedBytes = 0;
  const fits = (bytes: number): boolean => usedBytes + bytes <= limitBytes;
  const delays = (bytes: number, waiting: Waiting): boolean => waiting.passedBytes + bytes + waiting.bytes > limitBytes;
  const mayPass = (bytes: number, passed: readonly Waiting[]): boolean =>
    fits(bytes) && passed.every((waiting) => waiting.passes < PASSES_LIMIT || !delays(bytes, waiting));
  const admitWaiting = (): void => {
    const passed: Waiting[] = [];
    for (const waiting of queue) {
      if (mayPass(waiting.bytes, passed)) {
        queue.delete(waiting);
        waiting.admit([...passed]);
      } else passed.push(waiting);
    }
  };
  const taken = (bytes: number, passed: readonly Waiting[]): GiveBack => {
    usedBytes += bytes;
    for (const waiting of passed) {
      if (delays(bytes, waiting)) waiting.passes += 1;
      waiting.passedBytes += bytes;
    }
    let heldBytes = bytes;
    return (keptBytes = 0) => {
      const freedBytes = heldBytes - keptBytes;
      if (freedBytes <= 0) return;
      heldBytes = keptBytes;
      usedBytes -= freedBytes;
      for (const waiting of passed) waiting.passedBytes -= freedBytes;
      admitWaiting();
    };
  };
  const drop = (one: Kept): void => {
    if (!kept.delete(one)) return;
    keptBytes -= one.bytes;
    usedBytes -= one.bytes;
  };
  /** Has what is kept dropped, until so many bytes are left. */
  const makeSpace = (bytes: number): void => {
    for (const one of kept) {
      if (fits(bytes)) return;
      drop(one);
      one.onWanted();
    }
  };
  const tryTake: ByteBudget['tryTake'] = (bytes) => {
    if (bytes <= UNCOUNTED_BYTES) return () => {};
    if (!fits(bytes - keptBytes)) return undefined;
    makeSpace(bytes);
    return taken(bytes, []);
  };
  return {
    tryTake,
    async take(bytes, signal) {
      signal.throwIfAborted();
      if (bytes > limitBytes) throw new RangeError(`${bytes} bytes are more than the whole budget of ${limitBytes}`);
      if (bytes <= UNCOUNTED_BYTES) return () => {};
      makeSpace(bytes);
      const queued = [...queue];
      if (mayPass(bytes, queued)) return taken(bytes, queued);
      return new Promise((resolve, reject) => {
        const onAbort = (): void => {
          queue.delete(waiting);
          reject(signal.reason);
          admitWaiting();
        };
        const waiting: Waiting = {
          bytes,
          passedBytes: 0,
          passes: 0,
          admit(passed) {
            signal.removeEventListener('abort', onAbort);
            resolve(taken(bytes, passed));
          },
        };
        makeSpace(Number.POSITIVE_INFINITY);
        queue.add(waiting);
        signal.addEventListener('abort', onAbort, { once: true });
      });
    },
    keep(bytes, onWanted) {
      if (bytes <= UNCOUNTED_BYTES) return () => {};
      if (!fits(bytes) || queue.size > 0) return undefined;
      const one: Kept = { bytes, onWanted };
      kept.add(one);
      keptBytes += bytes;
      usedBytes += bytes;
      return () => drop(one);
    },
    usedBytes: () => usedBytes,
    limitBytes,
  };
};

/** What decides the budget of a service. */
export type MemoryBounds = {
  /** The largest body. It must fit in, or it could never be sent. */
  readonly limitBytes: number;
  /** What the process may use. */
  readonly memoryBytes: number;
};

/**
 * A body, or the messages of a turn, is bytes, then a text, then values, and a text again for the next server: five times its
 * size, and twice that with what is not collected yet.
 */
const MEMORY_PER_BYTE = 10;

/** The one budget of a service, for everything whose size its clients decide. */
export const createServiceBudget = ({ limitBytes, memoryBytes }: MemoryBounds): ByteBudget =>
  createByteBudget(Math.max(limitBytes, Math.floor(memoryBytes / MEMORY_PER_BYTE)));
