import { connect, type Socket } from 'node:net';
import { type LocalServer, withHttpServer } from '../../core/http/local-server.ts';

/** What a proxy was asked for, with the credentials it was shown. */
type Detour = {
  readonly target: string;
  readonly credentials: string | undefined;
  readonly bearer: string | undefined;
};
type LocalProxy = LocalServer & { readonly detours: readonly Detour[] };

const tunnel = (client: Socket, target: string): void => {
  const [host, port] = target.split(':');
  const upstream = connect(Number(port), host, () => {
    client.write('HTTP/1.1 200 Connection Established\r\n\r\n');
    upstream.pipe(client).pipe(upstream);
  });
  upstream.on('error', () => client.destroy());
  client.on('error', () => upstream.destroy());
  client.on('close', () => upstream.destroy());
};

/** Runs `body` beside a proxy. `answer` is what it says to a CONNECT: it tunnels unless told to say something else, or nothing. */
export const withProxy = (
  body: (proxy: LocalProxy) => Promise<void>,
  answer: 'tunnel' | 'silence' | number = 'tunnel',
): Promise<void> => {
  const detours: Detour[] = [];
  return withHttpServer(
    ({ url, headers }, response) => {
      detours.push({
        target: String(url),
        credentials: headers['proxy-authorization'],
        bearer: headers.authorization,
      });
      response.writeHead(502).end();
    },
    (local) => body({ ...local, detours }),
    (server) =>
      server.on('connect', ({ url, headers }, client: Socket) => {
        detours.push({
          target: String(url),
          credentials: headers['proxy-authorization'],
          bearer: headers.authorization,
        });
        if (answer === 'tunnel') tunnel(client, String(url));
        else if (answer !== 'silence') client.end(`HTTP/1.1 ${answer} No\r\ncontent-length: 0\r\n\r\n`);
      }),
  );
};
