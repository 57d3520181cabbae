import { untilAborted } from '../../../src/core/async.ts';
import { type HttpClient, HttpClientError, type OpenHttpStream } from '../../../src/core/http/client.ts';
import type { Handler } from '../../../src/core/http/handler.ts';

export type Call = {
  readonly method: string;
  readonly path: string;
  readonly body: unknown;
  /** When it was answered or came to nothing, in the machine's milliseconds. */
  endedAt?: number;
};

export type FeedFaults = {
  /** As OpenCode does: events have no ids, so what was missed is not told again. */
  readonly hasNoIDs?: boolean;
  /** How much the event stream lags behind everything else. */
  readonly lateMs?: number;
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
  /** Ends the event stream, and lets nobody open one until the returned function is called. */
  readonly cutFeed: () => () => void;
  /** Keeps the events of the stream back until the returned function is called. */
  readonly holdFeed: () => () => void;
  /** Puts an event into the stream that is not the agent's. */
  readonly report: (event: unknown) => void;
  /** Keeps calls from reaching the agent until the returned function is called. */
  readonly hold: (isHeld: (call: Call) => boolean) => () => void;
};

const withoutIDs = (bytes: Uint8Array): Uint8Array =>
  new TextEncoder().encode(new TextDecoder().decode(bytes).replaceAll(/^id: .*\n/gm, ''));

const delayed = (body: ReadableStream<Uint8Array>, lateMs: number): ReadableStream<Uint8Array> => {
  const pass = (chunk: Uint8Array, controller: TransformStreamDefaultController<Uint8Array>): void => {
    try {
      controller.enqueue(chunk);
    } catch {
      // Whoever read it has left meanwhile.
    }
  };
  return body.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>(
      {
        transform: (chunk, controller) => void setTimeout(() => pass(chunk, controller), lateMs),
        flush: () => new Promise((resolve) => setTimeout(resolve, lateMs)),
      },
      { highWaterMark: 10_000 },
      { highWaterMark: 10_000 },
    ),
  );
};

type Feeds = Set<ReadableStreamDefaultController<Uint8Array>>;

/** The same stream, into which more can be put by way of `feeds`. */
const open = (body: ReadableStream<Uint8Array>, feeds: Feeds): ReadableStream<Uint8Array> => {
  const reader = body.getReader();
  let own: ReadableStreamDefaultController<Uint8Array>;
  return new ReadableStream<Uint8Array>({
    start(controller) {
      own = controller;
      feeds.add(controller);
      void (async () => {
        for (let read = await reader.read(); read.value !== undefined; read = await reader.read()) {
          if (!feeds.has(controller)) return;
          controller.enqueue(read.value);
        }
        if (feeds.delete(controller)) controller.close();
      })();
    },
    async cancel() {
      feeds.delete(own);
      await reader.cancel();
    },
  });
};

export const createAgentLink = (agent: Handler, { hasNoIDs = false, lateMs = 0 }: FeedFaults = {}): AgentLink => {
  let handler: Handler | undefined = agent;
  let isCut = false;
  let held: { readonly isHeld: (call: Call) => boolean; readonly until: Promise<void> } | undefined;
  let feedHeld: Promise<void> | undefined;
  const calls: Call[] = [];
  const streams = new Set<() => void>();
  const feeds: Feeds = new Set();
  const exchanges = new Set<() => void>();
  const reach = (): Handler => {
    if (handler === undefined) throw new HttpClientError('ECONNREFUSED');
    return handler;
  };
  const cutStreams = () => {
    for (const cut of [...streams]) cut();
  };

  const httpClient: HttpClient = async ({ method, url, headers, body, signal, limitBytes, onHead }) => {
    const call: Call = { method, path: new URL(url).pathname, body: body === undefined ? undefined : JSON.parse(body) };
    calls.push(call);
    const broken = Promise.withResolvers<never>();
    broken.promise.catch(() => {});
    const breakIt = () => broken.reject(new HttpClientError('ECONNRESET'));
    exchanges.add(breakIt);
    const answer = async () => {
      if (held?.isHeld(call) === true) await untilAborted(held.until, signal);
      const request = new Request(url, { method, headers, signal, ...(body === undefined ? {} : { body }) });
      const response = await reach()(request);
      const head = { status: response.status, header: (name: string) => response.headers.get(name) };
      onHead?.(head);
      const text = await response.text();
      if (Buffer.byteLength(text) > limitBytes) throw new HttpClientError('ANSWER_TOO_LARGE');
      return { ...head, text };
    };
    try {
      return await untilAborted(Promise.race([answer(), broken.promise]), signal);
    } finally {
      call.endedAt = performance.now();
      exchanges.delete(breakIt);
    }
  };
  const stream: OpenHttpStream = async ({ url, headers, signal }) => {
    if (isCut) throw new HttpClientError('ECONNREFUSED');
    const opened = reach();
    const response = await opened(new Request(url, { headers, signal }));
    // The agent was killed before it had answered: its stream says nothing of what its successor does.
    if (handler !== opened) {
      await response.body?.cancel();
      throw new HttpClientError('ECONNRESET');
    }
    const body = response.body ?? new ReadableStream<Uint8Array>();
    const reader = open(lateMs === 0 ? body : delayed(body, lateMs), feeds).getReader();
    const cut = () => void reader.cancel().catch(() => {});
    streams.add(cut);
    signal.addEventListener('abort', cut, { once: true });
    async function* chunks() {
      for (let read = await reader.read(); read.value !== undefined; read = await reader.read()) {
        while (feedHeld !== undefined) await feedHeld;
        if (isCut) break;
        yield hasNoIDs ? withoutIDs(read.value) : read.value;
      }
      streams.delete(cut);
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
      cutStreams();
    },
    cutFeed() {
      isCut = true;
      cutStreams();
      return () => {
        isCut = false;
      };
    },
    holdFeed() {
      const holding = Promise.withResolvers<void>();
      feedHeld = holding.promise;
      return () => {
        feedHeld = undefined;
        holding.resolve();
      };
    },
    report(event) {
      const text = typeof event === 'string' ? event : JSON.stringify(event);
      for (const controller of feeds) controller.enqueue(new TextEncoder().encode(`data: ${text}\n\n`));
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
