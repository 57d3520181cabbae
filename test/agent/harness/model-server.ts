import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Handler } from '../../../src/core/http/handler.ts';
import { type LocalServer, withHttpServer } from '../../core/http/local-server.ts';

const requestOf = async (message: IncomingMessage, left: AbortSignal): Promise<Request> => {
  const chunks: Buffer[] = [];
  for await (const chunk of message) chunks.push(chunk);
  const headers = Object.entries(message.headers).map(([name, value]): [string, string] => [name, String(value)]);
  const { method = 'GET', url = '/' } = message;
  const body = chunks.length === 0 ? null : Buffer.concat(chunks);
  return new Request(`http://127.0.0.1${url}`, { method, headers, body, signal: left });
};

const respond = async (handler: Handler, message: IncomingMessage, response: ServerResponse): Promise<void> => {
  const leaving = new AbortController();
  response.on('close', () => leaving.abort());
  const { status, headers, body } = await handler(await requestOf(message, leaving.signal));
  response.writeHead(status, Object.fromEntries(headers));
  const reader = body?.getReader();
  leaving.signal.addEventListener('abort', () => void reader?.cancel().catch(() => {}));
  try {
    for (let read = await reader?.read(); read?.value !== undefined; read = await reader?.read()) {
      response.write(read.value);
    }
    response.end();
  } catch {
    // A body that breaks is a connection that breaks.
    response.destroy();
  }
};

/** Runs `body` beside a server that answers with the handler, piece by piece, over real connections. */
export const withModelServer = (handler: Handler, body: (local: LocalServer) => Promise<void>): Promise<void> =>
  withHttpServer((message, response) => void respond(handler, message, response).catch(() => response.destroy()), body);
