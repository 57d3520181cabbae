import type { FeedVerdict } from '../../api/types.ts';

/** A verdict with its number in the feed, which names its row. */
export type FeedRow = FeedVerdict & { readonly number: number };

/** What came in one second. */
type Second = { readonly at: number; count: number; flagged: number; durationMs: number };

/** The latest verdicts, and how many came in each of the last seconds. It never grows. */
export type FeedLog = {
  readonly add: (verdicts: readonly FeedVerdict[], nowMs: number) => void;
  /** The newest first. */
  readonly rows: () => readonly FeedRow[];
  /** Times in seconds, then verdicts, flagged ones and the mean latency of each second. Seconds without a verdict count. */
  readonly seconds: (nowMs: number) => readonly (readonly (number | null)[])[];
  readonly total: () => number;
};

type FeedLimits = { readonly rows: number; readonly seconds: number };

/** Creates an empty log that keeps so many rows and seconds. */
export const createFeedLog = (limits: FeedLimits): FeedLog => {
  let rows: FeedRow[] = [];
  let seconds: Second[] = [];
  let total = 0;
  const secondAt = (at: number): Second => {
    const last = seconds.at(-1);
    if (last?.at === at) return last;
    const added = { at, count: 0, flagged: 0, durationMs: 0 };
    seconds.push(added);
    if (seconds.length > limits.seconds) seconds = seconds.slice(-limits.seconds);
    return added;
  };
  return {
    add(verdicts, nowMs) {
      // By the clock of this machine: the gateway's may be another.
      const second = secondAt(Math.floor(nowMs / 1000));
      const added: FeedRow[] = [];
      for (const verdict of verdicts) {
        total += 1;
        second.count += 1;
        second.flagged += (verdict.flagged?.length ?? 0) > 0 ? 1 : 0;
        second.durationMs += verdict.duration_ms;
        added.push({ ...verdict, number: total });
      }
      rows = [...added.reverse(), ...rows].slice(0, limits.rows);
    },
    rows: () => rows,
    seconds(nowMs) {
      const end = Math.floor(nowMs / 1000);
      const known = new Map(seconds.map((second) => [second.at, second]));
      const times = Array.from({ length: limits.seconds }, (_, index) => end - limits.seconds + 1 + index);
      return [
        times,
        times.map((at) => known.get(at)?.count ?? 0),
        times.map((at) => known.get(at)?.flagged ?? 0),
        times.map((at) => {
          const second = known.get(at);
          return second === undefined || second.count === 0 ? null : second.durationMs / second.count;
        }),
      ];
    },
    total: () => total,
  };
};
