import { untilAborted } from '../../../src/core/async.ts';
import { type HttpClient, HttpClientError, type OpenHttpStream } from '../../../src/core/http/client.ts';
import type { Handler } from '../../../src/core/http/handler.ts';

export type Call = {
  readonly method: string;
  readonly path: string;
  readonly body: unknown;
  /** When it was answered or came to nothing, in the machine's milliseconds. Of a stream: when it was opened. */
  endedAt?: number;
};

/** What lies between a bridge and its agent: everything goes through, unless a test is in the way. */
export type AgentLink = {
  readonly httpClient: HttpClient;
  readonly stream: OpenHttpStream;
  /** What the bridge has asked of the agent, in order. */
  readonly calls: Call[];
  /** Puts another handler in the agent's place, or nothing: then nobody answers. */
  readonly replace: (handler: Handler | undefined) => void;
  /** Breaks every connection, as a process does that is killed. */
  readonly breakOff: () => void;
  /** Ends the streams that are open, and lets nobody open one until the returned function is called. */
  readonly cutStreams: () => () => void;
  /** Keeps calls from reaching the agent until the returned function is called. */
  readonly hold: (isHeld: (call: Call) => boolean) => () => void;
};

export const createAgentLink = (agent: Handler): AgentLink => {
  let handler: Handler | undefined = agent;
  let isCut = false;
  let held: { readonly isHeld: (call: Call) => boolean; readonly until: Promise<void> } | undefined;
  const calls: Call[] = [];
  const streams = new Set<() => void>();
  const exchanges = new Set<() => void>();
  const reach = (): Handler => {
    if (handler === undefined) throw new HttpClientError('ECONNREFUSED');
    return handler;
  };
  const cut = () => {
    for (const end of [...streams]) end();
  };
  type Sent = { method: string; url: string; headers: Readonly<Record<string, string>>; body?: string | undefined };
  /** Records a call, and lets it go on until it is answered or broken off. */
  const during = async <T>(
    { method, url, body }: Sent,
    signal: AbortSignal,
    work: (broken: AbortSignal) => Promise<T>,
  ) => {
    const call: Call = { method, path: new URL(url).pathname, body: body === undefined ? undefined : JSON.parse(body) };
    calls.push(call);
    const breaking = new AbortController();
    const breakIt = () => breaking.abort(new HttpClientError('ECONNRESET'));
    exchanges.add(breakIt);
    try {
      if (held?.isHeld(call) === true) await untilAborted(held.until, signal);
      return await untilAborted(untilAborted(work(breaking.signal), breaking.signal), signal);
    } finally {
      call.endedAt = performance.now();
      exchanges.delete(breakIt);
    }
  };
  const requestFor = ({ method, url, headers, body }: Sent, signal: AbortSignal) =>
    new Request(url, { method, headers, signal, ...(body === undefined ? {} : { body }) });

  const httpClient: HttpClient = async ({ signal, limitBytes, ...sent }) =>
    during(sent, signal, async () => {
      const response = await reach()(requestFor(sent, signal));
      const text = await response.text();
      if (Buffer.byteLength(text) > limitBytes) throw new HttpClientError('ANSWER_TOO_LARGE');
      return { status: response.status, header: (name: string) => response.headers.get(name), text };
    });
  const stream: OpenHttpStream = async ({ signal, ...given }) => {
    if (isCut) throw new HttpClientError('ECONNREFUSED');
    const sent = { ...given, method: given.body === undefined ? 'GET' : 'POST' };
    const leaving = new AbortController();
    const leave = () => leaving.abort(new HttpClientError('ECONNRESET'));
    const aborted = () => leaving.abort(signal.reason);
    signal.addEventListener('abort', aborted, { once: true });
    const opened = reach();
    let answered: Promise<Response> | undefined;
    const open = (): Promise<Response> => {
      answered = opened(requestFor(sent, leaving.signal));
      return answered;
    };
    const response = await during(sent, signal, open).catch((error: unknown) => {
      // A server notices that nobody is there to take its answer.
      answered?.then(({ body }) => body?.cancel()).catch(() => {});
      throw error;
    });
    // The agent was killed before it had answered: its stream says nothing of what its successor does.
    if (handler !== opened) {
      leave();
      await response.body?.cancel();
      throw new HttpClientError('ECONNRESET');
    }
    streams.add(leave);
    const reader = (response.body ?? new ReadableStream<Uint8Array>()).getReader();
    // It may be left before anybody reads.
    const cancel = (): void => void reader.cancel().catch(() => {});
    if (leaving.signal.aborted || signal.aborted) cancel();
    leaving.signal.addEventListener('abort', cancel, { once: true });
    async function* chunks() {
      try {
        for (;;) {
          const { value } = await untilAborted(reader.read(), leaving.signal);
          if (value === undefined) return;
          yield value;
        }
      } finally {
        streams.delete(leave);
        signal.removeEventListener('abort', aborted);
        await reader.cancel().catch(() => {});
      }
    }
    return { status: response.status, header: (name) => response.headers.get(name), chunks: chunks() };
  };
  return {
    httpClient,
    stream,
    calls,
    replace(other) {
      handler = other;
    },
    breakOff() {
      for (const breakIt of [...exchanges]) breakIt();
      cut();
    },
    cutStreams() {
      isCut = true;
      cut();
      return () => {
        isCut = false;
      };
    },
    hold(isHeld) {
      const holding = Promise.withResolvers<void>();
      held = { isHeld, until: holding.promise };
      return () => {
        held = undefined;
        holding.resolve();
      };
    },
  };
};
