import { createServer, type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import type { AddressInfo, Server } from 'node:net';
import { Readable } from 'node:stream';
import { systemClock } from '../../../src/adapter/node/clock.ts';
import type { Clock } from '../../../src/core/clock.ts';
import { createFaultyRelay, type RelayControl } from '../../demo/relay/control.ts';

export type RunningRelay = {
  /** `http://127.0.0.1:4711`, without a slash at its end. */
  readonly origin: string;
  /** `127.0.0.1:4711` */
  readonly host: string;
  /** `127.0.0.1` */
  readonly hostname: string;
  readonly control: RelayControl;
  /** Takes a request over and says so, or leaves it to the relay. A test sets it. */
  meddle: (message: IncomingMessage, reply: ServerResponse) => boolean;
  /** Breaks every connection, those that a fault keeps open too. */
  readonly stop: () => Promise<void>;
};

type RelayOptions = { readonly adminKey?: string; readonly clock?: Clock; readonly newId?: () => string };

const LOOPBACK = '127.0.0.1';

/** The target as a URL that stays on this origin: `//elsewhere/` is a path here, and `*` is none. */
const urlFor = (target: string, origin: string): URL => {
  const text = target.startsWith('/') ? origin + target : target;
  return URL.canParse(text) ? new URL(text) : new URL(origin);
};

const requestFrom = (message: IncomingMessage, origin: string, signal: AbortSignal): Request => {
  const headers = new Headers();
  for (let at = 0; at + 1 < message.rawHeaders.length; at += 2)
    headers.append(message.rawHeaders[at] ?? '', message.rawHeaders[at + 1] ?? '');
  const { method = 'GET' } = message;
  const hasBody = method !== 'GET' && method !== 'HEAD';
  const init: RequestInit & { duplex: 'half' } = { method, headers, signal, duplex: 'half' };
  const body = hasBody ? { body: Readable.toWeb(message) as ReadableStream } : {};
  return new Request(urlFor(message.url ?? '/', origin), { ...init, ...body });
};

const flushed = (reply: ServerResponse): Promise<void> =>
  new Promise((resolve) => {
    const settle = () => {
      reply.off('drain', settle).off('close', settle);
      resolve();
    };
    reply.once('drain', settle).once('close', settle);
  });

const send = async (response: Response, reply: ServerResponse): Promise<void> => {
  reply.writeHead(
    response.status,
    response.statusText || STATUS_CODES[response.status] || '',
    [...response.headers].flat(),
  );
  const reader = response.body?.getReader();
  if (reader === undefined) return void reply.end();
  // A body that waits for its next byte must hear of the departure too.
  reply.once('close', () => void reader.cancel().catch(() => {}));
  for (;;) {
    const { done, value } = await reader.read();
    if (done || reply.destroyed) break;
    if (!reply.write(value)) await flushed(reply);
  }
  reply.end();
};

/** Has a server listen on a free port of this machine, and returns the port. */
export const listening = (server: Server): Promise<number> =>
  new Promise((resolve, reject) => {
    server.once('error', reject).listen(0, LOOPBACK, () => resolve((server.address() as AddressInfo).port));
  });

/** The demo relay on a port of its own, on real sockets: what it drops is dropped, what it streams is streamed. */
export const startRelay = async (options: RelayOptions = {}): Promise<RunningRelay> => {
  const replies = new WeakMap<Request, ServerResponse>();
  const { handler, control } = createFaultyRelay({
    clock: systemClock,
    newId: () => crypto.randomUUID(),
    ...options,
    drop: (request) => void replies.get(request)?.socket?.destroy(),
  });
  const server = createServer((message, reply) => {
    if (running.meddle(message, reply)) return;
    const left = new AbortController();
    reply.once('close', () => left.abort());
    const serve = async () => {
      const request = requestFrom(message, origin, left.signal);
      replies.set(request, reply);
      control.nameTarget(request, message.url ?? '/');
      const response = await handler(request);
      if (left.signal.aborted || reply.socket === null || reply.socket.destroyed) return response.body?.cancel();
      return send(response, reply);
    };
    serve().catch(() => reply.destroy());
  });
  const host = `${LOOPBACK}:${await listening(server)}`;
  const origin = `http://${host}`;
  const running: RunningRelay = {
    origin,
    host,
    hostname: LOOPBACK,
    control,
    meddle: () => false,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return running;
};
