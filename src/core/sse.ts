import type { Clock } from './clock.ts';

/** One event of a stream, as the HTML standard's "server-sent events" have it. */
export type SseEvent = { readonly id?: string; readonly data: string };

/** The lines of an event. Data may hold line breaks; an id must not. */
export const encodeSse = ({ id, data }: SseEvent): string => {
  const named = id === undefined ? '' : `id: ${id}\n`;
  return `${named}${data
    .split(/\r\n|\r|\n/)
    .map((line) => `data: ${line}\n`)
    .join('')}\n`;
};

export type SseNeeds = {
  readonly clock: Clock;
  /** Sent whenever nothing else was for so long, so that nothing on the way takes the stream for dead. */
  readonly heartbeat: { readonly everyMs: number; readonly event: () => SseEvent };
  /** Hears of a source that failed; the stream ends all the same. */
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
  let next: Promise<IteratorResult<SseEvent>> | undefined;
  const orHeartbeat = async (): Promise<IteratorResult<SseEvent>> => {
    // It stays the next one until it was taken: it may come between a heartbeat and the next look.
    next ??= iterator.next();
    const beat = Promise.withResolvers<undefined>();
    const cancel = clock.after(heartbeat.everyMs, () => beat.resolve(undefined));
    try {
      const first = await Promise.race([next, beat.promise]);
      if (first === undefined) return { done: false, value: heartbeat.event() };
      next = undefined;
      return first;
    } finally {
      cancel();
    }
  };
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const result = await orHeartbeat();
        // Whoever has left can be told nothing any more.
        if (leaving.signal.aborted) return;
        if (result.done === true) controller.close();
        else controller.enqueue(encoder.encode(encodeSse(result.value)));
      } catch (error) {
        onBug(error);
        if (!leaving.signal.aborted) controller.close();
      }
    },
    async cancel() {
      leaving.abort();
      await iterator.return?.();
    },
  });
  return new Response(body, { headers: HEADERS });
};
