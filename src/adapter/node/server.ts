import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, Server as NetServer, type Socket } from 'node:net';
import { createServerAdapter } from '@whatwg-node/server';
import type { Handler } from '../../core/http/handler.ts';
import { systemClock } from './clock.ts';

export type ServeNeeds = { readonly host: string; readonly port: number };

export type RunningServer = {
  readonly address: string;
  /** Takes no new connections, lets what runs finish within `limitMs`, then closes what is left. */
  readonly stop: (limitMs: number) => Promise<void>;
};

/** Connections that are kept alive get this long to send one more request and learn that they are closed after it. */
const LAME_DUCK_MS = 500;

/** What the adapter hands on beside the request, under names of its own. */
type NodeSide = { readonly req: IncomingMessage; readonly res: ServerResponse };

/** How long the rest of a body that was refused may take to arrive on a connection that is closed after it. */
const ARRIVAL_LIMIT_MS = 2000;

/**
 * Closing a connection whose body is unread resets it, and the sender loses the answer. Where the connection is kept,
 * Node itself reads on after the answer.
 */
const arrivalOf = async (message: IncomingMessage, reply: ServerResponse): Promise<void> => {
  if (message.complete || message.destroyed || reply.shouldKeepAlive) return;
  await new Promise<void>((resolve) => {
    const cancel = systemClock.after(ARRIVAL_LIMIT_MS, resolve);
    message.once('close', () => {
      cancel();
      resolve();
    });
    message.resume();
  });
};

const addressOf = ({ address, port, family }: AddressInfo): string =>
  `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`;

/**
 * Takes no new connections, and tells when the last one is closed. http's own close() resets connections that are kept
 * alive and idle for just this instant, so that of its parent is taken. On Bun it has none, and its own has to do.
 */
const closePort = (server: Server, closed: () => void): void => {
  const isNetServer: boolean = server instanceof NetServer;
  if (isNetServer) NetServer.prototype.close.call(server, closed);
  else server.close(closed);
};

/**
 * Serves a handler over Node's HTTP. The handler must not reject: what it throws would be shown with its stack.
 * Rejects with Node's own error when the port cannot be had.
 */
export const serveNode = (handler: Handler, { host, port }: ServeNeeds): Promise<RunningServer> => {
  // No `fetchAPI`: the adapter's own Request is lazy and several times cheaper than the global one.
  const adapter = createServerAdapter<NodeSide>(async (request, { req, res }) => {
    const answer = await handler(request);
    await arrivalOf(req, res);
    return answer;
  });
  let isStopping = false;
  /** Every connection, with the last answer that was begun on it. */
  const connections = new Map<Socket, ServerResponse | undefined>();
  const server = createServer((message, reply) => {
    if (isStopping) reply.shouldKeepAlive = false;
    connections.set(message.socket, reply);
    return adapter(message, reply);
  });
  server.on('connection', (socket) => {
    connections.set(socket, undefined);
    socket.once('close', () => connections.delete(socket));
  });
  const closeUnused = (): void => {
    server.closeIdleConnections();
    // Those that were opened in advance count as busy until their first byte, which Bun does not count.
    for (const [socket, reply] of connections) if (reply === undefined && socket.bytesRead === 0) socket.destroy();
  };
  const stop = async (limitMs: number): Promise<void> => {
    isStopping = true;
    for (const reply of connections.values()) if (reply !== undefined) reply.shouldKeepAlive = false;
    const timers = [setTimeout(closeUnused, LAME_DUCK_MS), setTimeout(() => server.closeAllConnections(), limitMs)];
    await new Promise<void>((resolve) => closePort(server, resolve));
    for (const timer of timers) clearTimeout(timer);
  };
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      const address = server.address();
      if (address === null || typeof address === 'string') return reject(new Error('No TCP address'));
      resolve({ address: addressOf(address), stop });
    });
  });
};
