import { pause, pauseUntil } from '../../core/async.ts';
import type { Clock } from '../../core/clock.ts';

/** An open event stream, as whoever feeds it tells of it. */
export type ReaderProgress = {
  /** One event more is there for its reader. */
  readonly queued: () => void;
  /** Its reader has been given one. */
  readonly delivered: () => void;
  /** Its reader has been given all there is. */
  readonly drained: () => void;
  readonly end: () => void;
};

/** The event streams that are open. */
export type OpenStreams = {
  readonly count: () => number;
  /** One more, until its `end` is called. */
  readonly begin: () => ReaderProgress;
  /** Settles once all readers have been given what is there for them now; nothing when they have been given it already. */
  readonly caughtUp: () => Promise<void> | undefined;
};

type Waiting = { readonly upTo: number; readonly settle: () => void };
type Stream = { heard: number; given: number; waiting: Waiting[] };

const advance = (stream: Stream, given: number): void => {
  stream.given = Math.max(stream.given, given);
  for (const { upTo, settle } of stream.waiting) if (stream.given >= upTo) settle();
  stream.waiting = stream.waiting.filter(({ upTo }) => stream.given < upTo);
};

export const createOpenStreams = (): OpenStreams => {
  const streams = new Set<Stream>();
  return {
    count: () => streams.size,
    begin() {
      const stream: Stream = { heard: 0, given: 0, waiting: [] };
      streams.add(stream);
      return {
        queued() {
          stream.heard += 1;
        },
        delivered: () => advance(stream, stream.given + 1),
        drained: () => advance(stream, stream.heard),
        end() {
          streams.delete(stream);
          advance(stream, stream.heard);
        },
      };
    },
    caughtUp() {
      const behind = [...streams].filter(({ heard, given }) => given < heard);
      if (behind.length === 0) return undefined;
      const all = behind.map((stream) => {
        const { promise, resolve: settle } = Promise.withResolvers<void>();
        stream.waiting.push({ upTo: stream.heard, settle });
        return promise;
      });
      return Promise.all(all).then(() => {});
    },
  };
};

/** A reader that takes longer hears the rest after the answer. */
const LIMIT_MS = 200;
/** From a reader's hand to the wire, and for the reader to do something about it. */
const LEAD_MS = 25;

export type HoldNeeds = {
  readonly clock: Clock;
  readonly streams: Pick<OpenStreams, 'caughtUp'>;
  /** Aborts when the server stops: nothing is held back any more then. */
  readonly ending: AbortSignal;
};

/**
 * Holds an answer back until what was told before it is with those who listen. OpenCode's `run` ends as soon as it has the
 * answer, and has printed no more than what it has heard by then.
 */
export const holdUntilDelivered = async <T>(
  { clock, streams, ending }: HoldNeeds,
  answer: Promise<T>,
  isHeld: (value: T) => boolean = () => true,
): Promise<T> => {
  const value = await answer;
  if (!isHeld(value)) return value;
  const caughtUp = streams.caughtUp();
  if (caughtUp === undefined) return value;
  try {
    await pauseUntil(clock, { ms: LIMIT_MS, woken: caughtUp }, ending);
    await pause(clock, LEAD_MS, ending);
  } catch {
    // The server stops.
  }
  return value;
};
