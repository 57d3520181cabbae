import type { Clock } from '../../core/clock.ts';
import { HttpClientError, type OpenHttpStream } from '../../core/http/client.ts';
import { createSseParser, type SseItem } from '../../core/http/sse-parser.ts';

export type LinkNeeds = {
  readonly stream: OpenHttpStream;
  readonly clock: Clock;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Where an earlier connection has stopped, empty if nobody knows. */
  readonly lastID: string;
  /** Hears what comes, and says what that means for the connection. */
  readonly hear: (news: SseItem) => LinkState;
};

/** `opening`: the first event has not come. `over`: the server has said goodbye. */
export type LinkState = 'opening' | 'open' | 'over';

export type LinkEnd = {
  /** In our own words, or the platform's code. */
  readonly reason: string;
  readonly lastID: string;
  readonly retryMs: number;
};

/** OpenCode never answers who connects just before it is ready, so a silent start is given up early. */
const OPENING_LIMIT_MS = 10_000;
/** Both servers send a heartbeat after ten seconds of silence. */
const SILENCE_LIMIT_MS = 35_000;
const EVENT_LIMIT_CHARS = 8 * 1024 * 1024;

/** An id that a header can carry; another is as good as none. */
const sendable = (id: string): string => (/^[\x21-\x7e]{1,200}$/.test(id) ? id : '');

/** Why an answer is no stream of events, if it is none. */
const refusalIn = (status: number, type: string | null): string | undefined => {
  if (status !== 200) return `status ${status}`;
  return /^text\/event-stream\b/i.test(type ?? '') ? undefined : 'no event stream';
};

/** Follows the agent's event stream over one connection, from asking for it until it is gone. Rejects only for a bug. */
export const followLink = async (needs: LinkNeeds, stopping: AbortSignal): Promise<LinkEnd> => {
  const { stream, clock, url, headers, lastID, hear } = needs;
  const lines = createSseParser({ limitChars: EVENT_LIMIT_CHARS, lastID });
  const leaving = new AbortController();
  let reason = 'ended';
  const leave = (why: string) => (): void => {
    reason = why;
    leaving.abort(new Error(why));
  };
  const stop = leave('stopping');
  let cancelWatch = clock.after(OPENING_LIMIT_MS, leave('not opened in time'));
  const watch = (): void => {
    cancelWatch();
    cancelWatch = clock.after(SILENCE_LIMIT_MS, leave('silent'));
  };
  let isIDRefused = false;
  const read = async (): Promise<void> => {
    const named = lastID === '' ? {} : { 'last-event-id': lastID };
    const accepting = { ...headers, accept: 'text/event-stream', ...named };
    const { status, header, chunks } = await stream({ url, headers: accepting, signal: leaving.signal });
    isIDRefused = status === 400;
    const refusal = refusalIn(status, header('content-type'));
    if (refusal !== undefined) return leave(refusal)();
    let state: LinkState = 'opening';
    for await (const bytes of chunks) {
      for (const news of lines.push(bytes)) state = hear(news);
      if (state === 'over') return leave('disposed')();
      if (state === 'open') watch();
    }
  };
  if (stopping.aborted) stop();
  else stopping.addEventListener('abort', stop, { once: true });
  try {
    await read();
  } catch (error) {
    if (!leaving.signal.aborted) {
      if (!(error instanceof HttpClientError)) throw error;
      reason = error.code;
    }
  } finally {
    cancelWatch();
    stopping.removeEventListener('abort', stop);
    leaving.abort();
  }
  return { reason, lastID: isIDRefused ? '' : sendable(lines.lastID()), retryMs: lines.retryMs() ?? 0 };
};
