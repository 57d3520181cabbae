import { SSEClientTransport, SseError } from '@modelcontextprotocol/sdk/client/sse.js';
import { StreamableHTTPClientTransport, StreamableHTTPError } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { type JSONRPCMessage, JSONRPCMessageSchema } from '@modelcontextprotocol/sdk/types.js';
import type { McpTransports } from '../../agent/mcp/client.ts';
import { McpProblem } from '../../agent/mcp/errors.ts';
import type { Variables } from '../../core/config.ts';
import { type ChildLines, type Children, createChildren } from './child-process.ts';
import { type Programs, startableCommand, USUAL_PROGRAMS } from './command.ts';
import { createWatchedFetch, type Fetch, type WatchedFetch } from './http-guard.ts';

type LocalNeeds = Parameters<McpTransports['local']>[0];
type RemoteNeeds = Parameters<McpTransports['remote']>[0];

/** Of a message that is longer nobody would read the rest. */
const MESSAGE_LIMIT_BYTES = 8_388_608;
/** A server that is slow to hear that a session is over is not waited for. */
const FAREWELL_MS = 1000;
/** What every program may know of its surroundings. */
const SHARED_VARIABLES = ['PATH', 'HOME', 'LANG'] as const;

const messageIn = (line: string): JSONRPCMessage | undefined => {
  try {
    return JSONRPCMessageSchema.parse(JSON.parse(line));
  } catch {
    return undefined;
  }
};

/** Tells a transport's owner that it is over, once. */
const closeOnce = (transport: Transport): ((why?: McpProblem) => void) => {
  let isClosed = false;
  return (why) => {
    if (isClosed) return;
    isClosed = true;
    if (why !== undefined) transport.onerror?.(why);
    transport.onclose?.();
  };
};

type LocalWays = { readonly children: Children; readonly variables: Variables; readonly programs: Programs };

const localTransport = (
  { command, cwd, environment }: LocalNeeds,
  { children, variables, programs }: LocalWays,
): Transport => {
  const shared = Object.fromEntries(SHARED_VARIABLES.map((name) => [name, variables[name]]));
  let child: ChildLines | undefined;
  let isClosed = false;
  const transport: Transport = {
    async start() {
      if (isClosed) throw new McpProblem('ended', 'The connection was closed');
      child = children.start({
        command: startableCommand(command, programs, cwd),
        cwd,
        environment: { ...shared, ...environment },
        lineLimitBytes: MESSAGE_LIMIT_BYTES,
        onLine(line) {
          const message = messageIn(line);
          if (message !== undefined) transport.onmessage?.(message);
        },
        onEnd: closed,
      });
      await child.started;
    },
    async send(message) {
      child?.write(JSON.stringify(message));
    },
    async close() {
      isClosed = true;
      closed();
      await child?.stop();
    },
  };
  const closed = closeOnce(transport);
  return transport;
};

const refused = (status: number): McpProblem => {
  if (status === 401) return new McpProblem('needs-auth', 'The server asks for credentials (HTTP 401)');
  const isRedirect = status >= 300 && status < 400;
  return new McpProblem('refused', `Answered with HTTP ${status}${isRedirect ? ', which is not followed' : ''}`);
};
const problemOf = (error: unknown): McpProblem => {
  if (error instanceof McpProblem) return error;
  const status = error instanceof StreamableHTTPError || error instanceof SseError ? error.code : undefined;
  if (status !== undefined && status > 0) return refused(status);
  if (error instanceof StreamableHTTPError) return new McpProblem('unusable', 'Answered with neither JSON nor events');
  return new McpProblem('unreachable', 'The server cannot be reached');
};
/** Whether an answer to the very first message says that this server speaks the older way. */
const isOlderServer = (error: unknown): boolean =>
  error instanceof StreamableHTTPError &&
  error.code !== undefined &&
  error.code >= 400 &&
  error.code < 500 &&
  ![401, 403, 408, 429].includes(error.code);

/** One of the two ways to speak over HTTP. */
type Way = {
  readonly inner: Pick<Transport, 'start' | 'send'> & { readonly setProtocolVersion: (version: string) => void };
  readonly watched: WatchedFetch;
  readonly close: () => Promise<void>;
};
type WayNeeds = RemoteNeeds & {
  readonly ask: Fetch;
  readonly onMessage: (message: JSONRPCMessage) => void;
  readonly onGone: (why: McpProblem) => void;
};

const newerWay = ({ url, headers, ask, onMessage, onGone }: WayNeeds): Way => {
  const address = new URL(url);
  const { origin } = address;
  const limitBytes = MESSAGE_LIMIT_BYTES;
  const watched = createWatchedFetch({ ask, origin, limitBytes, livesByStream: false, onGone });
  const inner = new StreamableHTTPClientTransport(address, {
    requestInit: { headers: { ...headers } },
    fetch: watched.fetch,
  });
  inner.onmessage = onMessage;
  const close = async (): Promise<void> => {
    const late = Promise.withResolvers<void>();
    const timer = setTimeout(late.resolve, FAREWELL_MS);
    await Promise.race([inner.terminateSession().catch(() => {}), late.promise]);
    clearTimeout(timer);
    await inner.close();
  };
  return { inner, watched, close };
};

const olderWay = ({ url, headers, ask, onMessage, onGone }: WayNeeds): Way => {
  const address = new URL(url);
  const { origin } = address;
  const limitBytes = MESSAGE_LIMIT_BYTES;
  const watched = createWatchedFetch({ ask, origin, limitBytes, livesByStream: true, onGone });
  const inner = new SSEClientTransport(address, { requestInit: { headers: { ...headers } }, fetch: watched.fetch });
  inner.onmessage = onMessage;
  return { inner, watched, close: () => inner.close() };
};

const remoteTransport = ({ url, headers }: RemoteNeeds, ask: Fetch): Transport => {
  let isClosed = false;
  const needs: WayNeeds = {
    url,
    headers,
    ask,
    onMessage(message) {
      way.watched.opened();
      transport.onmessage?.(message);
    },
    onGone: (why) => closed(why),
  };
  let way = newerWay(needs);
  let closing: Promise<void> | undefined;

  /** The older way. What the newer one was answered with is told when this one does not lead anywhere either. */
  const goOlder = async (message: JSONRPCMessage, first: unknown): Promise<void> => {
    const newer = way;
    way = olderWay(needs);
    await newer.close();
    try {
      if (isClosed) throw first;
      await way.inner.start();
      await way.inner.send(message);
    } catch (error) {
      const problem = problemOf(error);
      throw problem.kind === 'needs-auth' ? problem : problemOf(first);
    }
  };
  const transport: Transport = {
    start: () => way.inner.start(),
    async send(message) {
      const isFirst = 'method' in message && message.method === 'initialize';
      try {
        await way.inner.send(message);
      } catch (error) {
        if (!isFirst || !isOlderServer(error)) throw problemOf(error);
        await goOlder(message, error);
      }
      const isCancel = 'method' in message && message.method === 'notifications/cancelled';
      if (isCancel) way.watched.release(message.params?.requestId);
    },
    close() {
      isClosed = true;
      closed();
      closing ??= way.close();
      return closing;
    },
    setProtocolVersion: (version) => way.inner.setProtocolVersion(version),
  };
  const closed = closeOnce(transport);
  return transport;
};

/** The ways to tool servers: programs that are started here, and addresses. Credentials are the headers alone. */
export const createTransports = ({
  variables = process.env,
  ask = fetch,
  programs = USUAL_PROGRAMS,
}: {
  readonly variables?: Variables;
  readonly ask?: Fetch;
  readonly programs?: Programs;
} = {}): McpTransports => {
  const children = createChildren();
  return {
    local: (server) => localTransport(server, { children, variables, programs }),
    remote: (server) => remoteTransport(server, ask),
  };
};
