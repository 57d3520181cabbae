import { McpProblem } from '../../agent/mcp/errors.ts';
import { isRecord } from '../../core/json.ts';

const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;

/** Counts bytes since the last empty line, which ends an event; of what is no stream of events, all. */
const createMeter = (isStream: boolean) => {
  let bytes = 0;
  let isAtLineStart = false;
  return (chunk: Uint8Array): number => {
    if (!isStream) bytes += chunk.length;
    else
      for (const byte of chunk) {
        bytes += 1;
        if (byte === LINE_FEED && isAtLineStart) bytes = 0;
        if (byte !== CARRIAGE_RETURN) isAtLineStart = byte === LINE_FEED;
      }
    return bytes;
  };
};

export type WatchedBodyNeeds = {
  /** A stream of events, of which each is bounded for itself. */
  readonly isStream: boolean;
  readonly limitBytes: number;
  readonly onBroken: (why: McpProblem) => void;
  /** Hears that the body was read, broke, or is wanted no more. */
  readonly onOver: () => void;
};

/** The same bytes, of which a message that is too long is the end. */
export const watchedBody = (body: ReadableStream<Uint8Array>, needs: WatchedBodyNeeds): ReadableStream<Uint8Array> => {
  const reader = body.getReader();
  const measure = createMeter(needs.isStream);
  let isLeft = false;
  const breakOff = (controller: ReadableStreamDefaultController, why: McpProblem): void => {
    needs.onBroken(why);
    needs.onOver();
    controller.error(why);
  };
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (done) {
          needs.onOver();
          controller.close();
        } else if (measure(value) > needs.limitBytes) {
          await reader.cancel();
          breakOff(controller, new McpProblem('ended', 'The server sent a message that is too long'));
        } else controller.enqueue(value);
      } catch {
        if (!isLeft) breakOff(controller, new McpProblem('ended', 'The connection broke'));
      }
    },
    async cancel() {
      isLeft = true;
      needs.onOver();
      await reader.cancel();
    },
  });
};

export type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

export type WatchedFetchNeeds = {
  readonly ask: Fetch;
  /** Where everything goes. Nothing is asked of any other origin, whatever the server says. */
  readonly origin: string;
  /** For a whole answer, for one event of a stream, and for all of our own answers that are not taken yet. */
  readonly limitBytes: number;
  /** Whether the end of a stream that was opened by GET is the end of the connection. */
  readonly livesByStream: boolean;
  /** Hears that the server cannot be reached any more, or knows this connection no longer. */
  readonly onGone: (why: McpProblem) => void;
};

/** HTTP for one connection, which notices when that is over: the client that uses it would wait for an answer. */
export type WatchedFetch = {
  readonly fetch: Fetch;
  /** From now on a refusal means that the connection is over. */
  readonly opened: () => void;
  /** Breaks off the request that carries the message of this id, if it is still under way. */
  readonly release: (id: unknown) => void;
};

/** What a server says that has been started anew, or whose session or credentials are over. */
const GONE = new Set([400, 401, 404, 410, 502, 503, 504]);

/** Of answers to what the server asks: one that asks faster than it listens would have us keep them all. */
const ANSWERS_LIMIT = 100;

type Asked = { readonly isGet: boolean; readonly signal: AbortSignal; readonly onOver: () => void };

type Sent = { readonly id: unknown; readonly isAnswer: boolean; readonly bytes: number };
const sentIn = (body: unknown): Sent => {
  if (typeof body !== 'string') return { id: undefined, isAnswer: false, bytes: 0 };
  const message: unknown = JSON.parse(body);
  if (!isRecord(message)) return { id: undefined, isAnswer: false, bytes: body.length };
  return { id: message.id, isAnswer: message.method === undefined, bytes: body.length };
};

export const createWatchedFetch = (needs: WatchedFetchNeeds): WatchedFetch => {
  const { ask, origin, limitBytes, livesByStream, onGone } = needs;
  const underWay = new Map<unknown, AbortController>();
  const answers = { count: 0, bytes: 0 };
  let isOpen = false;
  let hasListened = false;

  /** Some servers have nothing to listen to, and say so with any status. That it was there before is another matter. */
  const isOver = (method: string, status: number): boolean =>
    isOpen && GONE.has(status) && (method !== 'GET' || hasListened);

  const watched = (response: Response, { isGet, signal, onOver }: Asked): Response => {
    const { body, ok, status, statusText, headers } = response;
    const type = headers.get('content-type') ?? '';
    if (body === null) {
      onOver();
      return response;
    }
    if (isGet && ok) hasListened = true;
    const onBroken = (why: McpProblem): void => {
      // A stream to listen to may be opened again, unless the connection is made of it.
      if (ok && !signal.aborted && (!isGet || livesByStream)) onGone(why);
    };
    const over = (): void => {
      onOver();
      if (ok && isGet && livesByStream && !signal.aborted)
        onGone(new McpProblem('ended', 'The server closed the connection'));
    };
    const isStream = type.startsWith('text/event-stream');
    return new Response(watchedBody(body, { isStream, limitBytes, onBroken, onOver: over }), {
      status,
      statusText,
      headers,
    });
  };

  /** Counts an answer until it is taken. */
  const holdAnswer = ({ bytes }: Sent): (() => void) => {
    answers.count += 1;
    answers.bytes += bytes;
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      answers.count -= 1;
      answers.bytes -= bytes;
    };
  };
  const refuseAnswers = (): void => {
    if (answers.count < ANSWERS_LIMIT && answers.bytes <= limitBytes) return;
    const why = new McpProblem('ended', 'The server asks more than it takes answers to');
    onGone(why);
    throw why;
  };

  return {
    async fetch(url, init = {}) {
      if (new URL(url).origin !== origin) throw new McpProblem('refused', 'Answered with another place to ask');
      const own = new AbortController();
      const signal = init.signal == null ? own.signal : AbortSignal.any([init.signal, own.signal]);
      const method = init.method ?? 'GET';
      const sent = sentIn(init.body);
      const { id, isAnswer } = sent;
      if (isAnswer) refuseAnswers();
      const release = isAnswer ? holdAnswer(sent) : () => {};
      // An answer has the id that the server chose, which may be one of ours, too.
      if (id !== undefined && !isAnswer) underWay.set(id, own);
      const onOver = (): void => {
        release();
        if (!isAnswer) underWay.delete(id);
      };
      try {
        const response = await ask(url, { ...init, redirect: 'manual', signal });
        if (isOver(method, response.status)) {
          onGone(new McpProblem('ended', `The server ended the connection (HTTP ${response.status})`));
        }
        return watched(response, { isGet: method === 'GET', signal, onOver });
      } catch (error) {
        onOver();
        if (isOpen && !signal.aborted) onGone(new McpProblem('ended', 'The server cannot be reached any more'));
        throw error;
      }
    },
    opened() {
      isOpen = true;
    },
    release: (id) => underWay.get(id)?.abort(),
  };
};
