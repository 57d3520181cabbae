/** Counts a request of a gateway key. Returns 0 when it may pass, else the milliseconds until the next one may. */
export type RateLimit = (keyId: string) => number | Promise<number>;

/** The length of a counter's window. */
export const WINDOW_MS = 60_000;

/**
 * A sliding minute from two counters: the running window whole, the one before it by the share that still counts.
 * Returns the wait in milliseconds for a request that finds these counts, 0 when it fits.
 */
export const waitFor = (limit: number, previous: number, current: number, elapsedMs: number): number => {
  if (previous * (1 - elapsedMs / WINDOW_MS) + current + 1 <= limit) return 0;
  // A full running window has to end first, and then it counts as the previous one.
  if (current + 1 > limit) return WINDOW_MS - elapsedMs + Math.ceil(WINDOW_MS * (1 - (limit - 1) / current));
  return Math.ceil(WINDOW_MS * (1 - (limit - current - 1) / previous) - elapsedMs);
};

/** Allows `limit` requests a minute for each key; 0 means no limit. Refused requests are not counted. */
export const createRateLimit = (limit: number, now: () => number): RateLimit => {
  const counts = new Map<string, { window: number; previous: number; current: number }>();
  return (keyId) => {
    if (limit === 0) return 0;
    const window = Math.floor(now() / WINDOW_MS);
    const entry = counts.get(keyId) ?? { window, previous: 0, current: 0 };
    if (entry.window !== window) {
      entry.previous = entry.window === window - 1 ? entry.current : 0;
      entry.current = 0;
      entry.window = window;
    }
    counts.set(keyId, entry);
    const waitMs = waitFor(limit, entry.previous, entry.current, now() - window * WINDOW_MS);
    if (waitMs === 0) entry.current += 1;
    return waitMs;
  };
};
