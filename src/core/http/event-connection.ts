import type { Clock } from '../clock.ts';
import { HttpClientError, type OpenHttpStream } from './client.ts';
import { createSseParser, type SseItem } from './sse-parser.ts';

type EventConnectionOptions = {
  readonly stream: OpenHttpStream;
  readonly clock: Clock;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The id of the last event of an earlier connection, empty if it is not known. */
  readonly lastID: string;
  /** Called with each item; returns what it means for the connection. */
  readonly onItem: (item: SseItem) => ConnectionState;
  /** Whether the first bytes open it: of a server that begins with a comment, and may have no event for long. */
  readonly isOpenByBytes?: boolean;
};

/** `opening`: the first event has not come. `over`: the server has announced the end. */
export type ConnectionState = 'opening' | 'open' | 'over';

export type ConnectionEnd = {
  /** A text of ours, or the platform's error code. */
  readonly reason: string;
  readonly lastID: string;
  readonly retryMs: number;
  readonly wasOpen: boolean;
};

/** OpenCode's agent server never answers a client that connects just before it is ready, so a silent start is given up early. */
const OPENING_LIMIT_MS = 10_000;
/** All servers that are followed send a heartbeat after ten seconds of silence. */
const SILENCE_LIMIT_MS = 35_000;
const EVENT_LIMIT_CHARS = 8 * 1024 * 1024;

/** The id if a header can carry it, else an empty one. */
const headerID = (id: string): string => (/^[\x21-\x7e]{1,200}$/.test(id) ? id : '');

/** Why a response is no event stream; undefined if it is one. */
const refusalReason = (status: number, type: string | null): string | undefined => {
  if (status !== 200) return `status ${status}`;
  return /^text\/event-stream\b/i.test(type ?? '') ? undefined : 'no event stream';
};

/** Reads a server's event stream over one connection, from the request until it is closed. Rejects only for a bug. */
export const readEventConnection = async (
  { stream, clock, url, headers, lastID, onItem, isOpenByBytes = false }: EventConnectionOptions,
  stopping: AbortSignal,
): Promise<ConnectionEnd> => {
  const parser = createSseParser({ limitChars: EVENT_LIMIT_CHARS, lastID });
  const controller = new AbortController();
  let reason = 'ended';
  const close = (why: string) => (): void => {
    reason = why;
    controller.abort(new Error(why));
  };
  const stop = close('stopping');
  let cancelTimeout = clock.after(OPENING_LIMIT_MS, close('not opened in time'));
  const restartTimeout = (): void => {
    cancelTimeout();
    cancelTimeout = clock.after(SILENCE_LIMIT_MS, close('silent'));
  };
  let isIDRefused = false;
  let wasOpen = false;
  const read = async (): Promise<void> => {
    const resume = lastID === '' ? {} : { 'last-event-id': lastID };
    const sent = { ...headers, accept: 'text/event-stream', ...resume };
    const { status, header, chunks } = await stream({ url, headers: sent, signal: controller.signal });
    isIDRefused = status === 400;
    const refusal = refusalReason(status, header('content-type'));
    if (refusal !== undefined) return close(refusal)();
    let state: ConnectionState = isOpenByBytes ? 'open' : 'opening';
    for await (const bytes of chunks) {
      for (const item of parser.push(bytes)) state = onItem(item);
      if (state === 'over') return close('disposed')();
      if (state !== 'open') continue;
      wasOpen = true;
      restartTimeout();
    }
  };
  if (stopping.aborted) stop();
  else stopping.addEventListener('abort', stop, { once: true });
  try {
    await read();
  } catch (error) {
    if (!controller.signal.aborted) {
      if (!(error instanceof HttpClientError)) throw error;
      reason = error.code;
    }
  } finally {
    cancelTimeout();
    stopping.removeEventListener('abort', stop);
    controller.abort();
  }
  return { reason, lastID: isIDRefused ? '' : headerID(parser.lastID()), retryMs: parser.retryMs() ?? 0, wasOpen };
};
