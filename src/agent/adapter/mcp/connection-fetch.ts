import { isRecord } from '../../../core/json.ts';
import { McpServerError } from '../../tools/mcp/errors.ts';

const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;

/** Counts the bytes since the last empty line, which ends an event. Counts all bytes if the body is no event stream. */
const createByteCounter = (isStream: boolean) => {
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

type LimitedBodyOptions = {
  /** Whether the body is an event stream. The limit then applies to each event. */
  readonly isStream: boolean;
  readonly limitBytes: number;
  readonly onBroken: (why: McpServerError) => void;
  /** Called when the body was read, failed, or was cancelled. */
  readonly onOver: () => void;
};

/** The same bytes. A message over the limit ends them with an error. */
const limitBody = (body: ReadableStream<Uint8Array>, options: LimitedBodyOptions): ReadableStream<Uint8Array> => {
  const reader = body.getReader();
  const measure = createByteCounter(options.isStream);
  let isCancelled = false;
  const breakOff = (controller: ReadableStreamDefaultController, why: McpServerError): void => {
    options.onBroken(why);
    options.onOver();
    controller.error(why);
  };
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (done) {
          options.onOver();
          controller.close();
        } else if (measure(value) > options.limitBytes) {
          await reader.cancel();
          breakOff(controller, new McpServerError('ended', 'The server sent a message that is too long'));
        } else controller.enqueue(value);
      } catch {
        if (!isCancelled) breakOff(controller, new McpServerError('ended', 'The connection broke'));
      }
    },
    async cancel() {
      isCancelled = true;
      options.onOver();
      await reader.cancel();
    },
  });
};

export type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

type ConnectionFetchOptions = {
  readonly fetch: Fetch;
  /** The only origin that requests are sent to, whatever the server answers. */
  readonly origin: string;
  /** The limit for a whole response, for one event of a stream, and for all of our own responses that are still being sent. */
  readonly limitBytes: number;
  /** Whether the connection ends with the stream that was opened by GET. */
  readonly endsWithStream: boolean;
  /** Called when the server cannot be reached any more, or does not know this connection any more. */
  readonly onGone: (why: McpServerError) => void;
};

/** `fetch` for one MCP connection. Detects when the connection has ended: the SDK's client would wait for a response. */
export type ConnectionFetch = {
  readonly fetch: Fetch;
  /** From now on a refused request means that the connection has ended. */
  readonly markOpen: () => void;
  /** Aborts the request that carries the message of this id, if it is still running. */
  readonly abort: (id: unknown) => void;
};

/** The statuses of a server that was restarted, or whose session or credentials have expired. */
const ENDED_STATUSES = new Set([400, 401, 404, 410, 502, 503, 504]);

/** The limit for unsent responses to requests of the server, which may send requests faster than it reads responses. */
const RESPONSES_LIMIT = 100;

type RequestState = { readonly isGet: boolean; readonly signal: AbortSignal; readonly onOver: () => void };

type SentMessage = { readonly id: unknown; readonly isResponse: boolean; readonly bytes: number };
const parseSentMessage = (body: unknown): SentMessage => {
  if (typeof body !== 'string') return { id: undefined, isResponse: false, bytes: 0 };
  const message: unknown = JSON.parse(body);
  if (!isRecord(message)) return { id: undefined, isResponse: false, bytes: body.length };
  return { id: message.id, isResponse: message.method === undefined, bytes: body.length };
};

export const createConnectionFetch = (options: ConnectionFetchOptions): ConnectionFetch => {
  const { origin, limitBytes, endsWithStream, onGone } = options;
  const openRequests = new Map<unknown, AbortController>();
  const responses = { count: 0, bytes: 0 };
  let isOpen = false;
  let hasListened = false;

  /** Servers without a GET stream refuse it with any status. A refusal counts only if the stream existed before. */
  const isOver = (method: string, status: number): boolean =>
    isOpen && ENDED_STATUSES.has(status) && (method !== 'GET' || hasListened);

  const followResponse = (response: Response, { isGet, signal, onOver }: RequestState): Response => {
    const { body, ok, status, statusText, headers } = response;
    const type = headers.get('content-type') ?? '';
    if (body === null) {
      onOver();
      return response;
    }
    if (isGet && ok) hasListened = true;
    const onBroken = (why: McpServerError): void => {
      // The GET stream may be opened again, unless the connection ends with it.
      if (ok && !signal.aborted && (!isGet || endsWithStream)) onGone(why);
    };
    const endBody = (): void => {
      onOver();
      if (ok && isGet && endsWithStream && !signal.aborted)
        onGone(new McpServerError('ended', 'The server closed the connection'));
    };
    const isStream = type.startsWith('text/event-stream');
    return new Response(limitBody(body, { isStream, limitBytes, onBroken, onOver: endBody }), {
      status,
      statusText,
      headers,
    });
  };

  /** Counts a response until it is sent. Call the result then. */
  const countResponse = ({ bytes }: SentMessage): (() => void) => {
    responses.count += 1;
    responses.bytes += bytes;
    let isCounted = true;
    return () => {
      if (!isCounted) return;
      isCounted = false;
      responses.count -= 1;
      responses.bytes -= bytes;
    };
  };
  const refuseTooManyResponses = (): void => {
    if (responses.count < RESPONSES_LIMIT && responses.bytes <= limitBytes) return;
    const why = new McpServerError('ended', 'The server sends requests faster than it reads the responses');
    onGone(why);
    throw why;
  };

  return {
    async fetch(url, init = {}) {
      if (new URL(url).origin !== origin) throw new McpServerError('refused', 'Answered with a URL of another origin');
      const own = new AbortController();
      const signal = init.signal == null ? own.signal : AbortSignal.any([init.signal, own.signal]);
      const method = init.method ?? 'GET';
      const sent = parseSentMessage(init.body);
      const { id, isResponse } = sent;
      if (isResponse) refuseTooManyResponses();
      const release = isResponse ? countResponse(sent) : () => {};
      // A response has the id that the server chose, which may equal one of ours.
      if (id !== undefined && !isResponse) openRequests.set(id, own);
      const onOver = (): void => {
        release();
        if (!isResponse) openRequests.delete(id);
      };
      try {
        const response = await options.fetch(url, { ...init, redirect: 'manual', signal });
        if (isOver(method, response.status)) {
          onGone(new McpServerError('ended', `The server ended the connection (HTTP ${response.status})`));
        }
        return followResponse(response, { isGet: method === 'GET', signal, onOver });
      } catch (error) {
        onOver();
        if (isOpen && !signal.aborted) onGone(new McpServerError('ended', 'The server cannot be reached any more'));
        throw error;
      }
    },
    markOpen() {
      isOpen = true;
    },
    abort: (id) => openRequests.get(id)?.abort(),
  };
};
