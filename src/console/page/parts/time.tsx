import { fullTime, shortTime } from '../format/dates.ts';
import { now } from '../state/clock.ts';

/** A time in the reader's locale, in full when it is pointed at. Milliseconds since the epoch. */
export const Time = ({ at }: { readonly at: number }) => {
  const isTime = Number.isFinite(at) && Math.abs(at) < 8.64e15;
  return isTime ? (
    <time dateTime={new Date(at).toISOString()} title={fullTime(at)}>
      {shortTime(at, now.peek())}
    </time>
  ) : (
    <span>–</span>
  );
};
