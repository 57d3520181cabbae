import type { Clock } from '../../core/clock.ts';

/** The system's time and timers. */
export const systemClock: Clock = {
  now: () => Date.now(),
  after(delayMs, task) {
    // Node warns of a negative delay.
    const timer = setTimeout(task, Math.max(0, delayMs));
    return () => clearTimeout(timer);
  },
};
