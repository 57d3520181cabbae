import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, Server as NetServer } from 'node:net';
import { Response as LibraryResponse } from '@whatwg-node/fetch';
import { createServerAdapter } from '@whatwg-node/server';
import type { Handler } from '../../core/http/handler.ts';
import { setPeer } from '../../core/http/peer.ts';
import { systemClock } from './clock.ts';
import { CONNECTION_LIMITS, type ConnectionLimits, createConnections } from './connections.ts';
import { sendStreamed } from './send.ts';

/** How connections are served. */
type ServingOptions = {
  readonly limits?: ConnectionLimits;
  /** Whether the handler asks `peerOf` for the address of a request's connection. */
  readonly tellsPeer?: boolean;
};

/** Where a server listens, and how. */
export type ListenOptions = ServingOptions & {
  readonly host: string;
  readonly port: number;
  /** Whether other processes of the same user may listen on the port as well: the system spreads connections over them. */
  readonly reusePort?: boolean;
};

export type RunningServer = {
  readonly address: string;
  /** Stops accepting connections, lets running requests finish within `limitMs`, then closes all connections. */
  readonly stop: (limitMs: number) => Promise<void>;
};

/** How long kept-alive connections may send one more request, whose response tells them that the connection closes. */
const LAME_DUCK_MS = 500;

/** What `@whatwg-node/server` passes beside the request. The names are its own. */
type NodeContext = { readonly req: IncomingMessage; readonly res: ServerResponse };

/** How long the rest of a body may take to arrive when its request was refused, or the server stops. */
const ARRIVAL_LIMIT_MS = 2000;

/**
 * Closing a connection with an unread body resets it, and the client loses the response. On kept-alive connections Node
 * itself reads the body.
 */
const bodyArrival = (message: IncomingMessage, reply: ServerResponse): Promise<void> | undefined => {
  if (message.complete || message.destroyed || reply.shouldKeepAlive) return undefined;
  return new Promise((resolve) => {
    const cancel = systemClock.after(ARRIVAL_LIMIT_MS, resolve);
    message.once('close', () => {
      cancel();
      resolve();
    });
    message.resume();
  });
};

/** The address of a port that is open, as a URL. */
const formatAddress = (bound: AddressInfo | string | null): string => {
  if (bound === null || typeof bound === 'string') throw new Error('No TCP address');
  const { address, port, family } = bound;
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`;
};

/**
 * Stops accepting connections, and calls `closed` once the last one is closed. Not with http's close(), which resets
 * kept-alive connections that are idle at this instant, but with that of its base class. Bun has no such base class.
 */
const closePort = (server: Server, closed: () => void): void => {
  const isNetServer: boolean = server instanceof NetServer;
  if (isNetServer) NetServer.prototype.close.call(server, closed);
  else server.close(closed);
};

/** Node's HTTP server over a handler, that does not listen yet. */
const createNodeServer = (
  handler: Handler,
  { limits = CONNECTION_LIMITS, tellsPeer = false }: ServingOptions,
): { readonly server: Server; readonly stop: RunningServer['stop'] } => {
  // No `fetchAPI`: the library's own Request is lazy and several times cheaper than the global one. Its own signal is a Proxy, which
  // costs more than the standard one with every listener.
  const adapter = createServerAdapter<NodeContext>(
    async (request, { req, res }) => {
      const { remoteAddress } = req.socket;
      if (tellsPeer && remoteAddress !== undefined) setPeer(request, remoteAddress);
      const answer = await handler(request);
      await bodyArrival(req, res);
      await sendStreamed(res, answer);
      return answer;
    },
    { __useCustomAbortCtrl: false },
  );
  let isStopping = false;
  const connections = createConnections(limits.idle);
  // Node looks for connections whose time is over once in an interval.
  const timing = { headersTimeout: limits.headMs, connectionsCheckingInterval: Math.ceil(limits.headMs / 5) };
  const server = createServer(timing, (message, reply) => {
    if (isStopping) reply.shouldKeepAlive = false;
    connections.began(message.socket, reply);
    adapter(message, reply);
  });
  server.on('connection', connections.opened);
  const closeUnused = (): void => {
    server.closeIdleConnections();
    // Connections that were opened in advance count as busy until their first byte. Bun does not count bytes.
    for (const [socket, reply] of connections.all())
      if (reply === undefined && socket.bytesRead === 0) socket.destroy();
  };
  /** A request that is still being sent cannot be answered any more. */
  const closeUnsent = (): void => {
    for (const [socket, reply] of connections.all()) if (reply?.req.complete === false) socket.destroy();
  };
  const stop = async (limitMs: number): Promise<void> => {
    isStopping = true;
    for (const reply of connections.all().values()) if (reply !== undefined) reply.shouldKeepAlive = false;
    const timers = [
      setTimeout(closeUnused, LAME_DUCK_MS),
      setTimeout(closeUnsent, ARRIVAL_LIMIT_MS),
      setTimeout(() => server.closeAllConnections(), limitMs),
    ];
    await new Promise<void>((resolve) => closePort(server, resolve));
    for (const timer of timers) clearTimeout(timer);
  };
  return { server, stop };
};

/**
 * Serves a handler over Node's HTTP server. The handler must not reject: its error would be sent with the stack. Rejects
 * with Node's own error when the port cannot be opened.
 */
export const serveNode = (
  handler: Handler,
  { host, port, reusePort = false, ...serving }: ListenOptions,
): Promise<RunningServer> => {
  const { server, stop } = createNodeServer(handler, serving);
  return new Promise((resolve, reject) => {
    // Also later, for a connection that cannot be accepted: the next may be.
    server.on('error', reject);
    server.listen({ port, host, reusePort }, () => resolve({ address: formatAddress(server.address()), stop }));
  });
};

/**
 * Makes the `Response` of `@whatwg-node/server` that of this process. It keeps a text as it is, where the global one makes a stream of
 * it that has to be read again: half of what a short answer costs.
 */
export const useLibraryResponse = (): void => {
  globalThis.Response = LibraryResponse;
};
