import { createStopwatch, slowness } from './stopwatch.ts';

/**
 * Milliseconds: how long a timer of 1 ms was kept waiting, and the slowest answer of the probe. Of a machine that others slow down
 * now, divided by how much.
 */
export type Stall = { readonly gap: number; readonly health: number };

/** What no request may hold an event loop for, on a machine like the one that runs the tests. */
export const STALL_LIMIT_MS = 50;
const TRIES = 6;

/** How long the event loop is held while `work` runs. `probe` is asked again and again beside it, such as `GET /health`. */
const measureStall = async (work: () => Promise<unknown>, probe: () => Promise<unknown>): Promise<Stall> => {
  const stall = { gap: 0, health: 0 };
  let held = createStopwatch();
  let isOver = false;
  const timer = setInterval(() => {
    stall.gap = Math.max(stall.gap, held());
    held = createStopwatch();
  }, 1);
  const probing = (async (): Promise<void> => {
    while (!isOver) {
      await new Promise((resolve) => setTimeout(resolve, 2));
      const waited = createStopwatch();
      await probe();
      stall.health = Math.max(stall.health, waited());
    }
  })();
  try {
    await work();
  } finally {
    isOver = true;
    await probing;
    clearInterval(timer);
  }
  return stall;
};

/** The best of some tries: a busy machine stops every process now and then. */
export const bestStall = async (work: () => Promise<unknown>, probe: () => Promise<unknown>): Promise<Stall> => {
  let best: Stall = { gap: Number.POSITIVE_INFINITY, health: Number.POSITIVE_INFINITY };
  for (let attempt = 0; attempt < TRIES && Math.max(best.gap, best.health) > STALL_LIMIT_MS; attempt++) {
    const before = slowness();
    const { gap, health } = await measureStall(work, probe);
    const times = Math.max(before, slowness());
    const stall = { gap: gap / times, health: health / times };
    if (stall.gap < best.gap) best = stall;
  }
  return best;
};
