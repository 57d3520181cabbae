import type { Clock } from '../../core/clock.ts';

export type BatchNeeds = {
  readonly clock: Clock;
  /** How long the first item after a silence waits for others. */
  readonly gatherMs: number;
  /** The least time from one batch to the next. */
  readonly intervalMs: number;
  /** How many items may lie ready; the source waits when there are more. */
  readonly limit: number;
};

/** A promise that is waited for in several places and can be fulfilled from outside. */
const createBell = () => {
  let bell = Promise.withResolvers<void>();
  return {
    ring: () => bell.resolve(),
    heard: () => bell.promise,
    reset() {
      bell = Promise.withResolvers<void>();
    },
  };
};

/**
 * What has arrived since the last look, together: a source that is faster than its reader comes in larger pieces instead
 * of piling up. Ending early ends the source.
 */
export async function* batched<Item>(
  source: AsyncIterable<Item>,
  { clock, gatherMs, intervalMs, limit }: BatchNeeds,
): AsyncGenerator<readonly Item[]> {
  const iterator = source[Symbol.asyncIterator]();
  const arrived = createBell();
  const taken = createBell();
  const over = createBell();
  let ready: Item[] = [];
  let isOver = false;
  let failure: { readonly error: unknown } | undefined;
  const pump = async (): Promise<void> => {
    try {
      while (!isOver) {
        const next = await iterator.next();
        if (next.done === true) break;
        ready.push(next.value);
        arrived.ring();
        if (ready.length >= limit) {
          taken.reset();
          await taken.heard();
        }
      }
    } catch (error) {
      failure = { error };
    }
    isOver = true;
    arrived.ring();
    over.ring();
  };
  /** For so long, or until the source is over. */
  const rest = async (ms: number): Promise<void> => {
    const paused = Promise.withResolvers<void>();
    const cancel = clock.after(ms, paused.resolve);
    await Promise.race([paused.promise, over.heard()]);
    cancel();
  };
  const pumping = pump();
  try {
    for (;;) {
      if (ready.length === 0 && !isOver) {
        arrived.reset();
        await arrived.heard();
        if (!isOver) await rest(gatherMs);
      }
      const batch = ready;
      ready = [];
      taken.ring();
      if (batch.length > 0) {
        yield batch;
        if (!isOver) await rest(intervalMs);
      } else if (failure !== undefined) throw failure.error;
      else if (isOver) return;
    }
  } finally {
    isOver = true;
    taken.ring();
    await iterator.return?.();
    await pumping;
  }
}
