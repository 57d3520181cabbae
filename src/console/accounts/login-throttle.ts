import { setNewest } from '../../core/bounded-map.ts';
import type { Clock } from '../../core/clock.ts';

/** Slows down who tries passwords: one for names, one for addresses. */
export type LoginThrottle = {
  /**
   * Counts an attempt. Returns how long its caller has to wait instead, 0 when it may go on. Attempts that run at the same time
   * count before their result is known.
   */
  readonly begin: (subject: string) => number;
  /** The attempt was right: `own` of the subject's attempts, or all of them, are forgotten. Returns how many there were. */
  readonly succeed: (subject: string, own?: number) => number;
};

type ThrottleLimits = {
  /** So many attempts are never slowed down. */
  readonly free: number;
  /** How many subjects are remembered: the one that was quiet for the longest is forgotten first. */
  readonly subjects: number;
};

const FIRST_WAIT_MS = 1000;
const LONGEST_WAIT_MS = 60_000;
const FORGET_AFTER_MS = 900_000;

type Attempts = { readonly count: number; readonly lastAt: number };

const waitAfter = (attempts: number, free: number): number =>
  attempts < free ? 0 : Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** (attempts - free));

/** Each wrong attempt beyond the free ones doubles the wait before the next, up to a minute; 15 quiet minutes end it. */
export const createLoginThrottle = (clock: Clock, { free, subjects }: ThrottleLimits): LoginThrottle => {
  const known = new Map<string, Attempts>();
  return {
    begin(subject) {
      const now = clock.now();
      const found = known.get(subject);
      // A clock that was set back must lock no user out.
      const quietMs = found === undefined ? 0 : Math.max(0, now - found.lastAt);
      const attempts = found === undefined || quietMs >= FORGET_AFTER_MS || now < found.lastAt ? 0 : found.count;
      const waitMs = waitAfter(attempts, free) - quietMs;
      if (attempts > 0 && waitMs > 0) return waitMs;
      setNewest(known, [subject, { count: attempts + 1, lastAt: now }], subjects);
      return 0;
    },
    succeed(subject, own = Number.POSITIVE_INFINITY) {
      const { count = 0, lastAt = 0 } = known.get(subject) ?? {};
      if (count > own) known.set(subject, { count: count - own, lastAt });
      else known.delete(subject);
      return count;
    },
  };
};
