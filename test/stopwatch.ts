/**
 * Starts a stopwatch for work of this process. It shows milliseconds: the time that has passed, but no more than the
 * process itself worked, because a busy machine also stops it for others.
 */
export const createStopwatch = (): (() => number) => {
  const startedAt = performance.now();
  const usedBefore = process.cpuUsage();
  return () => {
    const { user, system } = process.cpuUsage(usedBefore);
    return Math.min(performance.now() - startedAt, (user + system) / 1000);
  };
};
