import { pause } from '../core/async.ts';
import type { Clock } from '../core/clock.ts';
import type { StreamCount } from './events/readers.ts';
import { wakeablePause } from './wakeable-pause.ts';

/** A reader that takes longer hears the rest after the answer. */
const LIMIT_MS = 200;
/** From a reader's hand to the wire, and for the reader to do something about it. */
const LEAD_MS = 25;

export type HoldNeeds = {
  readonly clock: Clock;
  readonly streams: Pick<StreamCount, 'caughtUp'>;
  /** Aborts when the server stops: nothing is held back any more then. */
  readonly ending: AbortSignal;
};

/**
 * Holds an answer back until what was told before it is with those who listen. OpenCode's `run` ends as soon as it has the
 * answer, and has printed no more than what it has heard by then.
 */
export const afterEvents = async <T>(
  { clock, streams, ending }: HoldNeeds,
  answer: Promise<T>,
  isHeld: (value: T) => boolean = () => true,
): Promise<T> => {
  const value = await answer;
  if (!isHeld(value)) return value;
  const caughtUp = streams.caughtUp();
  if (caughtUp === undefined) return value;
  try {
    await wakeablePause(clock, { ms: LIMIT_MS, woken: caughtUp }, ending);
    await pause(clock, LEAD_MS, ending);
  } catch {
    // The server stops.
  }
  return value;
};
