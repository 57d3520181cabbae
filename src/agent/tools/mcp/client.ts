import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import {
  ErrorCode,
  ListRootsRequestSchema,
  McpError,
  ResultSchema,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { createDeadline, untilAborted } from '../../../core/async.ts';
import type { Clock } from '../../../core/clock.ts';
import type { TraceContext } from '../../../core/http/tracing.ts';
import { visibleLines } from '../../../core/text.ts';
import type { LocalMcpServer, RemoteMcpServer } from '../../config/types.ts';
import { McpServerError } from './errors.ts';
import { createListingBuilder, type Listing } from './tool-list.ts';
import { type McpResult, parseToolResult } from './tool-result.ts';

/**
 * A transport to a tool server that is not open yet. Its `close` may be called at any time and more than once, and settles
 * when everything is closed. Before it closes by itself, it passes a `McpServerError` to `onerror` if it knows the cause.
 */
export type McpTransport = Transport;

export type McpTransports = {
  readonly local: (
    server: Pick<LocalMcpServer, 'command' | 'environment'> & {
      readonly cwd?: string | undefined;
      /** Receives each short line of the program's standard error. */
      readonly onLogLine?: (line: string) => void;
    },
  ) => McpTransport;
  readonly remote: (server: Pick<RemoteMcpServer, 'url' | 'headers'>) => McpTransport;
};

/** A call of a tool. `trace`: sent as `_meta` of the request (https://modelcontextprotocol.io/seps/414-request-meta). */
export type McpCall = {
  readonly name: string;
  readonly input: Readonly<Record<string, unknown>>;
  readonly trace?: TraceContext;
};

/** A connection to one tool server. Its functions reject with the signal's reason, or with a `McpServerError`. */
export type McpConnection = {
  /** The server's own instructions for its use, cleaned and limited. */
  readonly instructions: string | undefined;
  readonly list: (signal: AbortSignal) => Promise<Listing>;
  /** Calls a tool once. An aborted or late call is cancelled at the server, which may carry it out nevertheless. */
  readonly call: (call: McpCall, signal: AbortSignal) => Promise<McpResult>;
  /** Fulfilled with the cause once the connection has ended. */
  readonly closed: Promise<McpServerError>;
};

export type McpClientOptions = {
  readonly transport: McpTransport;
  readonly clock: Clock;
  /** For the handshake, for a whole list and for a call, each. */
  readonly timeoutMs: number;
  readonly version: string;
  /** The directory that the server may ask for as its root; undefined offers none. */
  readonly root?: string | undefined;
  readonly onToolsChanged: () => void;
};

/** Disables the SDK's own timeout: the clock measures the time. */
const NEVER_MS = 2 ** 31 - 1;
const PAGE_LIMIT = 50;
const INSTRUCTIONS_LIMIT_CHARS = 8000;

const toFileUrl = (path: string): string => {
  const url = new URL('file:///');
  url.pathname = path;
  return url.href;
};

const toServerError = (error: unknown): McpServerError => {
  if (error instanceof McpError)
    return new McpServerError('refused', `Answered with error ${error.code}`, { code: error.code });
  return new McpServerError('unusable', 'Answered in a way that the protocol does not know');
};

/** Opens a connection over a transport. If that fails, the caller closes the transport. */
export const connectMcp = async (
  { transport, clock, timeoutMs, version, root, onToolsChanged }: McpClientOptions,
  signal: AbortSignal,
): Promise<McpConnection> => {
  const client = new Client({ name: 'gatehouse', version }, { capabilities: root === undefined ? {} : { roots: {} } });
  if (root !== undefined)
    client.setRequestHandler(ListRootsRequestSchema, () => ({ roots: [{ uri: toFileUrl(root) }] }));
  const closed = Promise.withResolvers<McpServerError>();
  let why = new McpServerError('ended', 'The connection was closed');
  let over: McpServerError | undefined;
  client.onerror = (error) => {
    if (error instanceof McpServerError) why = error;
  };
  client.onclose = () => {
    over ??= why;
    closed.resolve(over);
  };
  client.setNotificationHandler(ToolListChangedNotificationSchema, onToolsChanged);

  const withTimeLimit = async <T>(work: (inner: AbortSignal) => Promise<T>, outer: AbortSignal): Promise<T> => {
    outer.throwIfAborted();
    if (over !== undefined) throw over;
    const deadline = createDeadline(clock, timeoutMs, outer);
    try {
      return await untilAborted(work(deadline.signal), deadline.signal);
    } catch (error) {
      outer.throwIfAborted();
      if (error instanceof McpServerError) throw error;
      if (deadline.signal.aborted) throw new McpServerError('timeout', `No answer within ${timeoutMs} ms`);
      // A server may send the SDK's own code for a closed connection.
      const isClosed = error instanceof McpError && error.code === ErrorCode.ConnectionClosed && over !== undefined;
      throw isClosed ? over : toServerError(error);
    } finally {
      deadline.clear();
    }
  };
  // The SDK's own functions check results against the server's schemas: a change that was made would be reported as a
  // failure, and one invalid tool would hide all others.
  const request = (method: 'tools/list' | 'tools/call', params: Record<string, unknown>, inner: AbortSignal) =>
    client.request({ method, params }, ResultSchema, { signal: inner, timeout: NEVER_MS });

  const list = async (inner: AbortSignal): Promise<Listing> => {
    const { add, listing } = createListingBuilder();
    let cursor: string | undefined;
    for (let page = 0; page < PAGE_LIMIT; page++) {
      const { tools, nextCursor } = await request('tools/list', cursor === undefined ? {} : { cursor }, inner);
      if (!Array.isArray(tools)) throw new McpServerError('unusable', 'Answered with no list of tools');
      if (!tools.every(add) || typeof nextCursor !== 'string' || nextCursor === cursor) break;
      cursor = nextCursor;
    }
    return listing();
  };

  await withTimeLimit((inner) => client.connect(transport, { signal: inner, timeout: NEVER_MS }), signal);
  const instructions = client.getInstructions();
  return {
    instructions: instructions === undefined ? undefined : visibleLines(instructions, INSTRUCTIONS_LIMIT_CHARS),
    async list(outer) {
      try {
        return await withTimeLimit(list, outer);
      } catch (error) {
        // A server without tools need not implement `tools/list`.
        if (error instanceof McpServerError && error.code === ErrorCode.MethodNotFound)
          return { tools: [], skipped: [] };
        throw error;
      }
    },
    async call({ name, input, trace }, outer) {
      const params = { name, arguments: { ...input }, ...(trace && { _meta: { ...trace } }) };
      return parseToolResult(await withTimeLimit((inner) => request('tools/call', params, inner), outer));
    },
    closed: closed.promise,
  };
};
