/**
 * Starts a pause of `lengthMs` and returns a function to how much of it is left. A clock that is set back never makes it longer than
 * its length counted again from then.
 */
export const startCoolDown = (now: () => number, lengthMs: number): (() => number) => {
  let startedAt = now();
  return () => {
    const time = now();
    startedAt = Math.min(startedAt, time);
    return Math.max(0, startedAt + lengthMs - time);
  };
};

/** What is believed of a `Retry-After` header that a server sends. */
const RETRY_AFTER_MS = { least: 1_000, most: 3_600_000 } as const;

const SECONDS = /^\d+(?:\.\d+)?$/;
// The three forms that RFC 9110 wants read. `Date.parse` alone would also make a date of `-5` and of `soon 1`.
const HTTP_DATES = [
  /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/,
  /^[A-Z][a-z]{5,8}, \d{2}-[A-Z][a-z]{2}-\d{2} \d{2}:\d{2}:\d{2} GMT$/,
  /^[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d{2}:\d{2}:\d{2} \d{4}$/,
];

const delayMsOf = (value: string, now: number): number => {
  if (SECONDS.test(value)) return Math.ceil(Number(value) * 1000);
  if (!HTTP_DATES.some((form) => form.test(value))) return Number.NaN;
  // The oldest form names no zone and means GMT all the same.
  return Date.parse(value.endsWith('GMT') ? value : `${value} GMT`) - now;
};

/**
 * The wait that a `Retry-After` header asks for, never over an hour. Nothing when it is absent, unreadable, in the past
 * or under a second: believing such a header would mean to hammer a backend that has just refused.
 */
export const retryAfterMs = (header: string | null, now: number): number | undefined => {
  const delayMs = delayMsOf(header?.trim() ?? '', now);
  return delayMs >= RETRY_AFTER_MS.least ? Math.min(delayMs, RETRY_AFTER_MS.most) : undefined;
};
