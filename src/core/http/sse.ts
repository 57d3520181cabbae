import type { Clock } from '../clock.ts';
import { streamedResponse } from './streamed-response.ts';

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

/** Sends an event. Returns a promise where the client reads slowly: wait for it before the next event. */
export type SendSse = (event: SseEvent) => Promise<void> | undefined;

/** The connection of a machine that sleeps may seem open for a quarter of an hour. */
const UNREAD_LIMIT_MS = 30_000;

/** Sends as `send` does until the client has taken nothing for half a minute. Then it calls `onUnread` once, and sends nothing more. */
export const sendWhileRead = (send: SendSse, clock: Clock, onUnread = (): void => {}): SendSse => {
  let isRead = true;
  return (event) => {
    const taken = isRead ? send(event) : undefined;
    if (taken === undefined) return undefined;
    return new Promise((resolve) => {
      const cancel = clock.after(UNREAD_LIMIT_MS, () => {
        if (isRead) onUnread();
        isRead = false;
        resolve();
      });
      void taken.then(() => {
        cancel();
        resolve();
      });
    });
  };
};

/**
 * A response whose events `sendEvents` sends until it settles, or the client leaves: then `left` aborts, and it must settle
 * soon. A client that reads slowly is waited for, so what is held for it meanwhile must be bounded.
 */
export const pushedSseResponse = (
  sendEvents: (send: SendSse, left: AbortSignal) => Promise<void>,
  { clock, heartbeat, onBug }: SseNeeds,
): Response =>
  streamedResponse(async ({ write, isBehind }, left) => {
    let sentAt = clock.now();
    let cancelBeat = (): void => {};
    const send: SendSse = (event) => {
      sentAt = clock.now();
      return write(encodeSse(event));
    };
    /** One timer for the whole stream, which looks now and then: one for each event would cost more than the event. */
    const beat = (): void => {
      if (heartbeat === undefined) return;
      cancelBeat = clock.after(sentAt + HEARTBEAT_MS - clock.now(), () => {
        // A reader that has not taken the last event yet has enough to read.
        if (clock.now() - sentAt >= HEARTBEAT_MS && !isBehind()) void send(heartbeat());
        else if (clock.now() - sentAt >= HEARTBEAT_MS) sentAt = clock.now();
        beat();
      });
    };
    left.addEventListener('abort', () => cancelBeat(), { once: true });
    beat();
    try {
      await sendEvents(send, left);
    } catch (error) {
      onBug(error);
    } finally {
      cancelBeat();
    }
  }, HEADERS);

/**
 * A response that streams the events of a source until that ends, fails or the client leaves. The source is given a signal
 * that aborts when the client leaves, and must end then.
 */
export const sseResponse = (sourceFor: (left: AbortSignal) => AsyncIterable<SseEvent>, needs: SseNeeds): Response =>
  pushedSseResponse(async (send, left) => {
    const iterator = sourceFor(left)[Symbol.asyncIterator]();
    const endSource = (): void => void iterator.return?.().catch(needs.onBug);
    left.addEventListener('abort', endSource, { once: true });
    for (let next = await iterator.next(); next.done !== true && !left.aborted; next = await iterator.next()) {
      const taken = send(next.value);
      if (taken !== undefined) await taken;
    }
  }, needs);
