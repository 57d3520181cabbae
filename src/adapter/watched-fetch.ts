import { McpProblem } from '../agent/mcp-problem.ts';
import { watchedBody } from './watched-body.ts';

export type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

export type WatchedFetchNeeds = {
  readonly ask: Fetch;
  /** Where everything goes. Nothing is asked of any other origin, whatever the server says. */
  readonly origin: string;
  /** For a whole answer, or for one event of a stream. */
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

type Asked = { readonly isGet: boolean; readonly signal: AbortSignal; readonly onOver: () => void };

const idIn = (body: unknown): unknown => {
  if (typeof body !== 'string') return undefined;
  const message: unknown = JSON.parse(body);
  return typeof message === 'object' && message !== null && 'id' in message ? message.id : undefined;
};

export const createWatchedFetch = (needs: WatchedFetchNeeds): WatchedFetch => {
  const { ask, origin, limitBytes, livesByStream, onGone } = needs;
  const underWay = new Map<unknown, AbortController>();
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

  return {
    async fetch(url, init = {}) {
      if (new URL(url).origin !== origin) throw new McpProblem('refused', 'Answered with another place to ask');
      const own = new AbortController();
      const signal = init.signal == null ? own.signal : AbortSignal.any([init.signal, own.signal]);
      const method = init.method ?? 'GET';
      const id = idIn(init.body);
      if (id !== undefined) underWay.set(id, own);
      const onOver = (): void => void underWay.delete(id);
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
