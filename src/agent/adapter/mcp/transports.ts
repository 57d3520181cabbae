import { SSEClientTransport, SseError } from '@modelcontextprotocol/sdk/client/sse.js';
import { StreamableHTTPClientTransport, StreamableHTTPError } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import type { Variables } from '../../../core/config.ts';
import { parseJsonValue } from '../../../core/json.ts';
import type { McpTransports } from '../../tools/mcp/client.ts';
import { McpServerError } from '../../tools/mcp/errors.ts';
import { type ChildProcesses, createChildProcesses, type LineProcess } from './child-process.ts';
import { type CommandLookup, DEFAULT_COMMAND_LOOKUP, resolveCommand } from './command.ts';
import { type ConnectionFetch, createConnectionFetch, type Fetch } from './connection-fetch.ts';
import { limitLevels, toMessage } from './messages.ts';

type LocalOptions = Parameters<McpTransports['local']>[0];
type RemoteOptions = Parameters<McpTransports['remote']>[0];

/** The limit for one message. Nothing uses longer ones. */
const MESSAGE_LIMIT_BYTES = 8_388_608;
/** How long closing waits for the server to end the session. */
const TERMINATE_SESSION_MS = 1000;
/** The environment variables that every program gets. */
const SHARED_VARIABLES = ['PATH', 'HOME', 'LANG'] as const;

/** Calls `onerror` and `onclose` of a transport, once. */
const closeOnce = (transport: Transport): ((why?: McpServerError) => void) => {
  let isClosed = false;
  return (why) => {
    if (isClosed) return;
    isClosed = true;
    if (why !== undefined) transport.onerror?.(why);
    transport.onclose?.();
  };
};

/** Hands a message to the SDK. An error that it throws ends this connection, not the process. */
const handOn = (
  transport: Transport,
  message: JSONRPCMessage | undefined,
  closed: (why: McpServerError) => void,
): void => {
  if (message === undefined) return;
  try {
    transport.onmessage?.(message);
  } catch {
    closed(new McpServerError('unusable', 'Sent a message that cannot be processed'));
    void transport.close().catch(() => {});
  }
};

type LocalParts = {
  readonly children: ChildProcesses;
  readonly variables: Variables;
  readonly commandLookup: CommandLookup;
};

const createLocalTransport = (
  { command, cwd, environment, onLogLine = () => {} }: LocalOptions,
  { children, variables, commandLookup }: LocalParts,
): Transport => {
  const shared = Object.fromEntries(SHARED_VARIABLES.map((name) => [name, variables[name]]));
  let child: LineProcess | undefined;
  let isClosed = false;
  const transport: Transport = {
    async start() {
      if (isClosed) throw new McpServerError('ended', 'The connection was closed');
      child = children.start({
        command: resolveCommand(command, commandLookup, cwd),
        cwd,
        environment: { ...shared, ...commandLookup.inherited(command[0] ?? '', environment), ...environment },
        lineLimitBytes: MESSAGE_LIMIT_BYTES,
        onLine: (line) => handOn(transport, toMessage(parseJsonValue(line)), closed),
        onErrorLine: onLogLine,
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

const toStatusError = (status: number): McpServerError => {
  if (status === 401) return new McpServerError('needs-auth', 'The server asks for credentials (HTTP 401)');
  const isRedirect = status >= 300 && status < 400;
  return new McpServerError('refused', `Answered with HTTP ${status}${isRedirect ? ', which is not followed' : ''}`);
};
const toMcpError = (error: unknown): McpServerError => {
  if (error instanceof McpServerError) return error;
  const status = error instanceof StreamableHTTPError || error instanceof SseError ? error.code : undefined;
  if (status !== undefined && status > 0) return toStatusError(status);
  if (error instanceof StreamableHTTPError)
    return new McpServerError('unusable', 'Answered with neither JSON nor events');
  return new McpServerError('unreachable', 'The server cannot be reached');
};
/** Whether the response to the first message says that the server only has the older HTTP+SSE transport. */
const isOlderServer = (error: unknown): boolean =>
  error instanceof StreamableHTTPError &&
  error.code !== undefined &&
  error.code >= 400 &&
  error.code < 500 &&
  ![401, 403, 408, 429].includes(error.code);

/** One of the two HTTP transports of MCP: Streamable HTTP, or the older HTTP+SSE. */
type HttpTransport = {
  readonly inner: Pick<Transport, 'start' | 'send'> & { readonly setProtocolVersion: (version: string) => void };
  readonly requests: ConnectionFetch;
  readonly close: () => Promise<void>;
};
type HttpTransportOptions = RemoteOptions & {
  readonly httpFetch: Fetch;
  readonly onMessage: (message: JSONRPCMessage) => void;
  readonly onGone: (why: McpServerError) => void;
};

const createStreamableTransport = ({
  url,
  headers,
  httpFetch,
  onMessage,
  onGone,
}: HttpTransportOptions): HttpTransport => {
  const address = new URL(url);
  const { origin } = address;
  const limitBytes = MESSAGE_LIMIT_BYTES;
  const requests = createConnectionFetch({ fetch: httpFetch, origin, limitBytes, endsWithStream: false, onGone });
  const inner = new StreamableHTTPClientTransport(address, {
    requestInit: { headers: { ...headers } },
    fetch: requests.fetch,
  });
  inner.onmessage = onMessage;
  const close = async (): Promise<void> => {
    const late = Promise.withResolvers<void>();
    const timer = setTimeout(late.resolve, TERMINATE_SESSION_MS);
    await Promise.race([inner.terminateSession().catch(() => {}), late.promise]);
    clearTimeout(timer);
    await inner.close();
  };
  return { inner, requests, close };
};

const createSseTransport = ({ url, headers, httpFetch, onMessage, onGone }: HttpTransportOptions): HttpTransport => {
  const address = new URL(url);
  const { origin } = address;
  const limitBytes = MESSAGE_LIMIT_BYTES;
  const requests = createConnectionFetch({ fetch: httpFetch, origin, limitBytes, endsWithStream: true, onGone });
  const inner = new SSEClientTransport(address, { requestInit: { headers: { ...headers } }, fetch: requests.fetch });
  inner.onmessage = onMessage;
  return { inner, requests, close: () => inner.close() };
};

const createRemoteTransport = ({ url, headers }: RemoteOptions, httpFetch: Fetch): Transport => {
  let isClosed = false;
  const options: HttpTransportOptions = {
    url,
    headers,
    httpFetch,
    onMessage(message) {
      current.requests.markOpen();
      handOn(transport, limitLevels(message), closed);
    },
    onGone: (why) => closed(why),
  };
  let current = createStreamableTransport(options);
  let closing: Promise<void> | undefined;

  /** Switches to HTTP+SSE. If that fails too, the error of Streamable HTTP is reported. */
  const switchToSse = async (message: JSONRPCMessage, first: unknown): Promise<void> => {
    const previous = current;
    current = createSseTransport(options);
    await previous.close();
    try {
      if (isClosed) throw first;
      await current.inner.start();
      await current.inner.send(message);
    } catch (error) {
      const why = toMcpError(error);
      throw why.kind === 'needs-auth' ? why : toMcpError(first);
    }
  };
  const transport: Transport = {
    start: () => current.inner.start(),
    async send(message) {
      const isFirst = 'method' in message && message.method === 'initialize';
      try {
        await current.inner.send(message);
      } catch (error) {
        if (!isFirst || !isOlderServer(error)) throw toMcpError(error);
        await switchToSse(message, error);
      }
      const isCancel = 'method' in message && message.method === 'notifications/cancelled';
      if (isCancel) current.requests.abort(message.params?.requestId);
    },
    close() {
      isClosed = true;
      closed();
      closing ??= current.close();
      return closing;
    },
    setProtocolVersion: (version) => current.inner.setProtocolVersion(version),
  };
  const closed = closeOnce(transport);
  return transport;
};

/** Creates transports to tool servers: to programs that are started here, and to URLs. Only the headers hold credentials. */
export const createMcpTransports = ({
  variables = process.env,
  httpFetch = fetch,
  commandLookup = DEFAULT_COMMAND_LOOKUP,
}: {
  readonly variables?: Variables;
  readonly httpFetch?: Fetch;
  readonly commandLookup?: CommandLookup;
} = {}): McpTransports => {
  const children = createChildProcesses();
  return {
    local: (server) => createLocalTransport(server, { children, variables, commandLookup }),
    remote: (server) => createRemoteTransport(server, httpFetch),
  };
};
