import type { IncomingHttpHeaders } from 'node:http';
import { createUndiciClient, type ProxySettings } from '../../../src/adapter/node/undici-client.ts';
import type { HttpClient } from '../../../src/core/http/client.ts';
import { type LocalServer, soon, withHttpServer } from '../../core/http/local-server.ts';

type Backend = LocalServer & { readonly seen: readonly IncomingHttpHeaders[] };

/** Runs `body` with a client of these proxies, and closes it. */
export const using = async (proxies: ProxySettings, body: (httpClient: HttpClient) => Promise<void>): Promise<void> => {
  const { httpClient, close } = createUndiciClient(proxies);
  try {
    await body(httpClient);
  } finally {
    await soon(close(), 'the exchange to close');
  }
};

/** Runs `body` with a server that keeps the headers that it has seen. */
export const withBackend = (body: (backend: Backend) => Promise<void>): Promise<void> => {
  const seen: IncomingHttpHeaders[] = [];
  return withHttpServer(
    ({ headers }, response) => {
      seen.push(headers);
      response.end('{"ok":true}');
    },
    (local) => body({ ...local, seen }),
  );
};
