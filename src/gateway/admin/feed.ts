import { pause, pauseUntil } from '../../core/async.ts';
import type { Clock } from '../../core/clock.ts';
import { Fault } from '../../core/fault.ts';
import { pushedSseResponse, type SendSse } from '../../core/http/sse.ts';
import { startCoolDown } from '../../core/retry.ts';
import { createFeedRing, type FeedPosition } from './feed-ring.ts';

/** The live feed: events of this process for those who read it. Without a reader for a minute nothing is kept or made. */
export type Feed = {
  /** Whether an event would reach anybody. */
  readonly isOpen: () => boolean;
  /** `data` must hold no text and no key. Ask `isOpen` before. */
  readonly publish: (event: string, data: object) => void;
  /** Counts an event that is left out: readers learn how many were. */
  readonly skip: () => void;
  /** A stream of the events from now on, or after `Last-Event-ID`. Faults with `unavailable` when too many read already. */
  readonly stream: (request: Request) => Response;
};

type FeedNeeds = {
  readonly clock: Clock;
  readonly isStopping: () => boolean;
  readonly onBug: (error: unknown) => void;
};

/** How long events are kept for a reader that comes back. After it the feed costs nothing until somebody reads again. */
const OPEN_MS = 60_000;
/** Readers of one process. */
const READERS_LIMIT = 8;
/** Each reader looks for events so often: one write for all of them. It looks itself, since in some runtimes no request may wake another. */
const LOOK_EVERY_MS = 200;
/** A reader that takes nothing for so long is cut off. */
const STALLED_MS = 30_000;

/** The position after an event's id. One that is not ours is from before any event. */
const parsePosition = (id: string): FeedPosition => {
  const [, period, number] = /^(\d{1,15})-(\d{1,15})$/.exec(id) ?? [];
  return { period: Number(period ?? 0), next: Math.max(2, Number(number ?? 0) + 1) };
};

/** Creates the feed of a process. */
export const createFeed = ({ clock, isStopping, onBug }: FeedNeeds): Feed => {
  const ring = createFeedRing();
  let readers = 0;
  let openMs = () => 0;
  // A period is a time in which the feed was open without a gap. A later one is greater, and its numbers begin again.
  let period = 0;
  let number = 0;
  const isOpen = (): boolean => openMs() > 0;
  const keepOpen = (): void => {
    if (!isOpen()) [period, number] = [Math.max(clock.now(), period + 1), 0];
    openMs = startCoolDown(clock.now, OPEN_MS);
  };

  /** Sends what is new. Undefined where the reader has taken it. */
  const sendAfter = (start: FeedPosition, send: SendSse) => {
    const { items, position } = ring.after(start);
    let taken: Promise<void> | undefined;
    for (const item of items)
      taken =
        'skipped' in item
          ? send({ event: 'skipped', data: JSON.stringify({ count: item.skipped }) })
          : send({ id: `${position.period}-${item.number}`, event: item.event, data: item.data });
    return { position, taken };
  };
  /** Whether the reader has taken what it was sent. */
  const isTaken = async (taken: Promise<void>, left: AbortSignal): Promise<boolean> => {
    let isDone = false;
    const woken = taken.then(() => {
      isDone = true;
    });
    await pauseUntil(clock, { ms: STALLED_MS, woken }, left);
    return isDone;
  };
  const follow = async (start: FeedPosition, send: SendSse, left: AbortSignal): Promise<void> => {
    let position = start;
    while (!left.aborted) {
      keepOpen();
      const sent = sendAfter(position, send);
      position = sent.position;
      if (sent.taken !== undefined && !(await isTaken(sent.taken, left))) return;
      if (isStopping()) return void send({ event: 'stopping', data: '{}' });
      await pause(clock, LOOK_EVERY_MS, left);
    }
  };

  return {
    isOpen,
    publish(event, data) {
      number += 1;
      ring.append(period, { number, event, data: JSON.stringify(data) });
    },
    skip() {
      number += 1;
    },
    stream(request) {
      if (readers >= READERS_LIMIT)
        throw new Fault({
          kind: 'unavailable',
          message: `Expected at most ${READERS_LIMIT} readers of the feed`,
          retryAfterMs: 5000,
        });
      const lastId = request.headers.get('last-event-id') ?? '';
      // Where no reader was there for a minute, the next event begins a period, and this reader has missed nothing of it.
      const start = lastId !== '' ? parsePosition(lastId) : isOpen() ? ring.end() : { period: 0, next: 1 };
      readers += 1;
      return pushedSseResponse(
        async (send, left) => {
          try {
            void send({ comment: 'open' });
            await follow(start, send, left);
          } catch (error) {
            if (!left.aborted) throw error;
          } finally {
            readers -= 1;
          }
        },
        { clock, heartbeat: () => ({ comment: 'heartbeat' }), onBug },
      );
    },
  };
};
