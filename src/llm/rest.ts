/**
 * Starts a rest of `lengthMs` and tells how much of it is left. A clock that is set back never makes it longer than
 * its length counted again from then.
 */
export const startRest = (now: () => number, lengthMs: number): (() => number) => {
  let startedAt = now();
  return () => {
    const time = now();
    startedAt = Math.min(startedAt, time);
    return Math.max(0, startedAt + lengthMs - time);
  };
};
