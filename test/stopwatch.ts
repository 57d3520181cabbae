/**
 * Starts a stopwatch for work of this thread. It shows milliseconds: the time that has passed, but no more than the
 * thread itself worked, because a busy machine also stops it for others.
 */
export const createStopwatch = (): (() => number) => {
  const startedAt = performance.now();
  const usedBefore = process.threadCpuUsage();
  return () => {
    const { user, system } = process.threadCpuUsage(usedBefore);
    return Math.min(performance.now() - startedAt, (user + system) / 1000);
  };
};

const FIXED_TEXT = JSON.stringify(Array.from({ length: 20_000 }, (_, index) => ({ index, text: `value ${index}` })));
const FIXED_ROUNDS = 9;
/** Somewhat above the fastest rounds that were seen, 4.1 ms: the limits in tests are for a machine that is always as fast. */
const FIXED_MS = 4.5;

/** How many times slower the machine is now than one that takes `FIXED_MS`; at least 1. Takes a tenth of a second. */
export const slowness = (): number => {
  const rounds = Array.from({ length: FIXED_ROUNDS }, () => {
    const elapsedMs = createStopwatch();
    JSON.parse(FIXED_TEXT);
    return elapsedMs();
  }).sort((left, right) => left - right);
  return Math.max(1, (rounds[Math.floor(FIXED_ROUNDS / 2)] ?? 0) / FIXED_MS);
};
