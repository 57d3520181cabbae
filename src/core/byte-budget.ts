/** A number of bytes that may be held at a time, by whatever shares the budget. */
export type ByteBudget = {
  /** Takes bytes from the budget. Call what it returns, once, to give them back; undefined where they are not left. */
  readonly tryTake: (bytes: number) => (() => void) | undefined;
  readonly usedBytes: () => number;
};

/** A budget of `limitBytes`. */
export const createByteBudget = (limitBytes: number): ByteBudget => {
  let usedBytes = 0;
  return {
    tryTake(bytes) {
      if (usedBytes + bytes > limitBytes) return undefined;
      usedBytes += bytes;
      let isTaken = true;
      return () => {
        if (isTaken) usedBytes -= bytes;
        isTaken = false;
      };
    },
    usedBytes: () => usedBytes,
  };
};
