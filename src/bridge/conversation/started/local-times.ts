import { setNewest } from '../../../core/bounded-map.ts';
import type { Clock } from '../../../core/clock.ts';
import type { RequestMark } from '../types.ts';

/** When something in a mark was written, in the time of this bridge: clocks of several bridges may differ by minutes. */
export type LocalTimes = {
  /** Takes the times of a mark. `isNews`: this bridge follows the mark, so what it has not seen of it was written just now. */
  readonly note: (mark: RequestMark, isNews: boolean) => void;
  /** Since when no client reads the answer at any bridge, if the last one has left it. */
  readonly leftAtOf: (mark: RequestMark) => number | undefined;
  readonly failedAtOf: (mark: RequestMark) => number | undefined;
};

const TIMES_LIMIT = 20_000;

/** `isFollowed`: of the request with this token no event is missing, so what was not seen is written just now. */
export const createLocalTimes = (clock: Clock, isFollowed: (token: string) => boolean): LocalTimes => {
  const times = new Map<string, number>();
  /** What another bridge has written is not later than now, whatever its clock says. */
  const toLocal = (token: string, writtenMs: number, isNews: boolean): number =>
    times.get(`${token}\n${writtenMs}`) ?? (isNews ? clock.now() : Math.min(writtenMs, clock.now()));
  const note = (token: string, writtenMs: number | undefined, isNews: boolean): void => {
    if (writtenMs === undefined) return;
    setNewest(times, [`${token}\n${writtenMs}`, toLocal(token, writtenMs, isNews)], TIMES_LIMIT);
  };
  return {
    note({ token, left, failedAtMs }, isNews) {
      note(token, left?.atMs, isNews);
      note(token, failedAtMs, isNews);
    },
    leftAtOf: ({ token, left, readers = [] }) =>
      readers.length > 0 || left === undefined ? undefined : toLocal(token, left.atMs, isFollowed(token)),
    failedAtOf: ({ token, failedAtMs }) =>
      failedAtMs === undefined ? undefined : toLocal(token, failedAtMs, isFollowed(token)),
  };
};
