import type { Clock } from '../../core/clock.ts';

/** The machine's own time. */
export const systemClock: Clock = {
  now: () => Date.now(),
  after(delayMs, task) {
    // What is due already is due now; of a negative time Node would warn.
    const timer = setTimeout(task, Math.max(0, delayMs));
    return () => clearTimeout(timer);
  },
};
