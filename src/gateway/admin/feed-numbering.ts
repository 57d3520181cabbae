import * as v from 'valibot';
import { startCoolDown } from '../../core/retry.ts';

/** An event of the feed: its name, and its data as JSON in one line. No text and no key is in it. */
export const FeedEvent = v.object({ event: v.string(), data: v.string() });
export type FeedEvent = v.InferOutput<typeof FeedEvent>;

const Count = v.pipe(v.number(), v.safeInteger(), v.minValue(0));

/** Events with their numbers: the first has `first`, and none lies between them. Numbers begin anew with each period. */
export const FeedBatch = v.object({ period: Count, first: Count, events: v.pipe(v.array(FeedEvent), v.readonly()) });
export type FeedBatch = v.InferOutput<typeof FeedBatch>;

/** Events of one process that are not numbered yet, and how many more there were. */
export const UnnumberedEvents = v.object({ events: v.pipe(v.array(FeedEvent), v.readonly()), lost: Count });
export type UnnumberedEvents = v.InferOutput<typeof UnnumberedEvents>;

/** How long events are kept for a reader that comes back. After it the feed costs nothing until somebody reads again. */
const OPEN_MS = 60_000;

/** Whether somebody reads, or did within a minute. */
export const createOpenness = (now: () => number) => {
  let leftMs = () => 0;
  return {
    isOpen: (): boolean => leftMs() > 0,
    keepOpen(): void {
      leftMs = startCoolDown(now, OPEN_MS);
    },
  };
};

/** Numbers the events of all processes of a service. A period is a time in which it was open without a gap; a later one is greater. */
export const createFeedNumbering = (now: () => number) => {
  const { isOpen, keepOpen } = createOpenness(now);
  let period = 0;
  let next = 1;
  return {
    isOpen,
    keepOpen(): void {
      if (!isOpen()) [period, next] = [Math.max(now(), period + 1), 1];
      keepOpen();
    },
    number({ events, lost }: UnnumberedEvents): FeedBatch {
      const first = next;
      // Those that are left out came after the others. The number of the next event shows it.
      next = first + events.length + lost;
      return { period, first, events };
    },
  };
};

/** Brings the events of all processes of a service to each of them, numbered. */
export type FeedExchange = {
  /** Somebody reads in this process. */
  readonly keepOpen: () => void;
  readonly send: (event: FeedEvent) => void;
  /** One event was left out. */
  readonly skip: () => void;
  /** `onRead`: somebody reads in another process. */
  readonly connect: (listener: { readonly onRead: () => void; readonly onBatch: (batch: FeedBatch) => void }) => void;
};

/** The exchange of a service that is one process. */
export const createOwnExchange = (now: () => number): FeedExchange => {
  const numbering = createFeedNumbering(now);
  let onBatch = (_batch: FeedBatch): void => {};
  return {
    keepOpen: numbering.keepOpen,
    send: (event) => onBatch(numbering.number({ events: [event], lost: 0 })),
    skip: () => void numbering.number({ events: [], lost: 1 }),
    connect(listener) {
      onBatch = listener.onBatch;
    },
  };
};
