import { createServer as createHttpServer, type Server as HttpServer, type RequestListener } from 'node:http';
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from 'node:net';

/** A server of this machine that a test may watch. `sockets` are all that ever came, first to last. */
export type LocalServer = { readonly url: string; readonly port: number; readonly sockets: readonly Socket[] };

const SOON_MS = 5_000;

/** Settles like `promise`, or fails when it takes so long that nobody will come. */
export const soon = async <T>(promise: Promise<T>, what: string): Promise<T> => {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const tooLate = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`Waited in vain for ${what}`)), SOON_MS);
  });
  return Promise.race([promise, tooLate]).finally(() => clearTimeout(timer));
};

const during = async (server: Server, body: (local: LocalServer) => Promise<void>): Promise<void> => {
  const sockets: Socket[] = [];
  server.on('connection', (socket: Socket) => {
    sockets.push(socket);
    socket.on('error', () => {});
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  try {
    await body({ url: `http://127.0.0.1:${port}`, port, sockets });
  } finally {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  }
};

/** Runs `body` beside an HTTP server, which is gone afterwards with all its connections. */
export const withHttpServer = (
  listener: RequestListener,
  body: (local: LocalServer) => Promise<void>,
  prepare: (server: HttpServer) => void = () => {},
): Promise<void> => {
  const server = createHttpServer(listener);
  prepare(server);
  return during(server, body);
};

/** Runs `body` beside a server that does with each connection as it likes. */
export const withTcpServer = (
  onSocket: (socket: Socket) => void,
  body: (local: LocalServer) => Promise<void>,
): Promise<void> => during(createTcpServer(onSocket), body);

/** A port of this machine on which nobody listens. */
export const closedPort = async (): Promise<number> => {
  let free = 0;
  await withTcpServer(
    () => {},
    async ({ port }) => {
      free = port;
    },
  );
  return free;
};
