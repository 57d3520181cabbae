import { pause, pauseUntil } from '../../core/async.ts';
import type { Clock } from '../../core/clock.ts';

/** How far the reader of an open event stream has come, as the stream's source reports it. */
export type ReaderProgress = {
  /** One more event waits for the reader. */
  readonly queued: () => void;
  /** The reader was given one. */
  readonly delivered: () => void;
  /** The reader was given all there is. */
  readonly drained: () => void;
  /** The stream is closed. */
  readonly end: () => void;
};

/** The event streams that are open on this server. */
export type OpenStreams = {
  readonly count: () => number;
  /** One more, until its `end` is called. */
  readonly begin: () => ReaderProgress;
  /** Settles once all readers were given what waits for them now; undefined when nothing waits. */
  readonly caughtUp: () => Promise<void> | undefined;
};

type Waiting = { readonly upTo: number; readonly settle: () => void };
type Stream = { received: number; given: number; waiting: Waiting[] };

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
      const stream: Stream = { received: 0, given: 0, waiting: [] };
      streams.add(stream);
      return {
        queued() {
          stream.received += 1;
        },
        delivered: () => advance(stream, stream.given + 1),
        drained: () => advance(stream, stream.received),
        end() {
          streams.delete(stream);
          advance(stream, stream.received);
        },
      };
    },
    caughtUp() {
      const behind = [...streams].filter(({ received, given }) => given < received);
      if (behind.length === 0) return undefined;
      const all = behind.map((stream) => {
        const { promise, resolve: settle } = Promise.withResolvers<void>();
        stream.waiting.push({ upTo: stream.received, settle });
        return promise;
      });
      return Promise.all(all).then(() => {});
    },
  };
};

/** How long an answer is held back. A slower reader receives the rest after it. */
const LIMIT_MS = 200;
/** Time for the last event to arrive at the client, and for the client to print it. */
const LEAD_MS = 25;

type HoldNeeds = {
  readonly clock: Clock;
  readonly streams: Pick<OpenStreams, 'caughtUp'>;
  /** Aborts when the server stops: answers are not held back then. */
  readonly ending: AbortSignal;
};

/**
 * Holds an answer back until the events before it were delivered. OpenCode's `run` ends as soon as it has the answer, and
 * prints no event that comes later.
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
    // The server stops: the answer goes out at once.
  }
  return value;
};
