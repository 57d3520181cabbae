import type { Clock } from '../clock.ts';

/** One event of a stream, as the HTML standard's "server-sent events" have it. Clients skip a comment; it may stand alone. */
export type SseEvent = {
  readonly comment?: string;
  readonly event?: string;
  readonly id?: string;
  readonly data?: string;
};

const LINE_BREAK = /\r\n|\r|\n/;

const dataLines = (data: string): string =>
  // Most data is JSON in one line, and there may be very many of them.
  LINE_BREAK.test(data)
    ? data
        .split(LINE_BREAK)
        .map((line) => `data: ${line}\n`)
        .join('')
    : `data: ${data}\n`;

/** The lines of an event. Data may hold line breaks; comment, name and id must not. */
export const encodeSse = ({ comment, event, id, data }: SseEvent): string => {
  const remark = comment === undefined ? '' : `: ${comment}\n`;
  const name = event === undefined ? '' : `event: ${event}\n`;
  const place = id === undefined ? '' : `id: ${id}\n`;
  return `${remark}${name}${place}${data === undefined ? '' : dataLines(data)}\n`;
};

/** How long a stream of any service is silent before its heartbeat is sent. */
const HEARTBEAT_MS = 10_000;

type SseNeeds = {
  readonly clock: Clock;
  /** Sent whenever nothing else was for `HEARTBEAT_MS`, so that nothing on the way takes the stream for dead; none is sent without. */
  readonly heartbeat: (() => SseEvent) | undefined;
  /** Called when the source fails; the stream ends in any case. */
  readonly onBug: (error: unknown) => void;
};

const HEADERS = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
};

/**
 * A response that streams the events of a source until that ends, fails or the client leaves. The source is given a signal
 * that aborts when the client leaves, and must end then. A client that reads slowly is waited for, so the source must bound
 * what it holds for it.
 */
export const sseResponse = (
  sourceFor: (left: AbortSignal) => AsyncIterable<SseEvent>,
  { clock, heartbeat, onBug }: SseNeeds,
): Response => {
  const leaving = new AbortController();
  const iterator = sourceFor(leaving.signal)[Symbol.asyncIterator]();
  const encoder = new TextEncoder();
  let wanted = Promise.withResolvers<void>();
  let sentAt = clock.now();
  let cancelBeat = (): void => {};

  const send = (controller: ReadableStreamDefaultController<Uint8Array>, event: SseEvent): void => {
    controller.enqueue(encoder.encode(encodeSse(event)));
    sentAt = clock.now();
  };
  /** One timer for the whole stream, which looks now and then: one for each event would cost more than the event. */
  const beat = (controller: ReadableStreamDefaultController<Uint8Array>): void => {
    if (heartbeat === undefined) return;
    cancelBeat = clock.after(sentAt + HEARTBEAT_MS - clock.now(), () => {
      // A reader that has not taken the last event yet has enough to read.
      if (clock.now() - sentAt >= HEARTBEAT_MS && (controller.desiredSize ?? 0) > 0) send(controller, heartbeat());
      else if (clock.now() - sentAt >= HEARTBEAT_MS) sentAt = clock.now();
      beat(controller);
    });
  };
  const run = async (controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> => {
    beat(controller);
    try {
      for (;;) {
        await wanted.promise;
        const { done, value } = await iterator.next();
        // A client that has disconnected receives nothing any more.
        if (leaving.signal.aborted) return;
        if (done === true) return controller.close();
        wanted = Promise.withResolvers();
        send(controller, value);
      }
    } catch (error) {
      onBug(error);
      if (!leaving.signal.aborted) controller.close();
    } finally {
      cancelBeat();
    }
  };
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      void run(controller);
    },
    pull() {
      wanted.resolve();
    },
    async cancel() {
      leaving.abort();
      cancelBeat();
      wanted.resolve();
      await iterator.return?.();
    },
  });
  return new Response(body, { headers: HEADERS });
};
