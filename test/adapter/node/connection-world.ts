import { once } from 'node:events';
import { connect } from 'node:net';
import { serveNode } from '../../../src/adapter/node/server.ts';
import type { Handler } from '../../../src/core/http/handler.ts';

/** Sends bytes as they are, and reads until the server closes. */
export const exchange = async (address: string, pieces: readonly string[]): Promise<string> => {
  const socket = connect(Number(new URL(address).port), '127.0.0.1');
  let received = '';
  // A server that does not close has not kept its promise: what has come by then shows it.
  socket.setTimeout(3000, () => socket.destroy());
  socket.setEncoding('utf8').on('data', (piece: string) => {
    received += piece;
  });
  const closed = once(socket, 'close');
  for (const piece of pieces) {
    socket.write(piece);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  await closed;
  return received;
};

/** The bytes of a POST request that asks the handler for this deed. */
export const post = (deed: string, body: string, headers = '', version = '1.1', connection = 'close'): string =>
  `POST / HTTP/${version}\r\nHost: a.test\r\nConnection: ${connection}\r\nDo: ${deed}\r\n${headers}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;

/** Serves for as long as `use` takes, whatever comes of it: a server that is left open would keep the process. */
export const whileServing = async <T>(serve: Handler, use: (address: string) => Promise<T>): Promise<T> => {
  const server = await serveNode(serve, { host: '127.0.0.1', port: 0 });
  return use(server.address).finally(() => server.stop(1000));
};
