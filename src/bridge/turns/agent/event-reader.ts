import type { Clock } from '../../../core/clock.ts';
import { HttpClientError, type HttpStream, type OpenHttpStream } from '../../../core/http/client.ts';
import { createSseParser } from '../../../core/http/sse-parser.ts';

type StreamRequest = Omit<Parameters<OpenHttpStream>[0], 'signal'>;
/** An event of a stream. */
export type NamedEvent = { readonly name: string; readonly data: string };

/** An open answer of the agent, until `close`. */
export type OpenAnswer = Pick<HttpStream, 'status' | 'header'> & {
  readonly isEventStream: boolean;
  /** Its whole text, for an answer that is no event stream. */
  readonly text: () => Promise<string>;
  /**
   * The next events of a stream: all that have come together, none at its end. Rejects with an `HttpClientError` where it breaks or is
   * silent for too long.
   */
  readonly nextEvents: () => Promise<readonly NamedEvent[]>;
  readonly close: () => void;
};

/** A server sends a comment after ten seconds of silence. */
const SILENCE_LIMIT_MS = 35_000;
const EVENT_LIMIT_CHARS = 64 * 1024 * 1024;

/** Aborts `controller` once nothing has come for too long. One timer for the whole stream, which looks now and then. */
const createSilenceLimit = (clock: Clock, controller: AbortController) => {
  let heardAt = clock.now();
  let cancel = (): void => {};
  const wait = (): void => {
    cancel = clock.after(Math.max(1, heardAt + SILENCE_LIMIT_MS - clock.now()), () => {
      if (clock.now() - heardAt >= SILENCE_LIMIT_MS) controller.abort(new HttpClientError('SILENT'));
      else wait();
    });
  };
  wait();
  return {
    heard: (): void => {
      heardAt = clock.now();
    },
    end: (): void => cancel(),
  };
};

/** Opens an answer that may be a stream of events. Rejects as `OpenHttpStream` does. */
export const openAnswer = async (
  stream: OpenHttpStream,
  request: StreamRequest,
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
): Promise<OpenAnswer> => {
  signal.throwIfAborted();
  const controller = new AbortController();
  const onAbort = (): void => controller.abort(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  const silence = createSilenceLimit(clock, controller);
  const close = (): void => {
    silence.end();
    signal.removeEventListener('abort', onAbort);
    controller.abort(new HttpClientError('CLOSED'));
  };
  const opened = await stream({ ...request, signal: controller.signal }).catch((error: unknown) => {
    close();
    throw error;
  });
  const { status, header } = opened;
  const chunks = opened.chunks[Symbol.asyncIterator]();
  const parser = createSseParser({ limitChars: EVENT_LIMIT_CHARS });
  return {
    status,
    header,
    isEventStream: /^text\/event-stream\b/i.test(header('content-type') ?? ''),
    async text() {
      const decoder = new TextDecoder();
      let text = '';
      try {
        for (let next = await chunks.next(); next.done !== true; next = await chunks.next())
          text += decoder.decode(next.value, { stream: true });
        return text + decoder.decode();
      } finally {
        close();
      }
    },
    async nextEvents() {
      for (;;) {
        const next = await chunks.next();
        if (next.done === true) return [];
        silence.heard();
        const events = parser.push(next.value).map((item) => {
          if (item.kind === 'too-long') throw new HttpClientError('ANSWER_TOO_LARGE');
          return item;
        });
        if (events.length > 0) return events;
      }
    },
    close,
  };
};
