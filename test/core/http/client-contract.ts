import type { IncomingMessage } from 'node:http';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import * as assert from 'uvu/assert';
import { Fault } from '../../../src/core/fault.ts';
import {
  type HttpClient,
  HttpClientError,
  type HttpRequest,
  type HttpResponse,
} from '../../../src/core/http/client.ts';
import { type Check, rejection } from '../../check.ts';
import { closedPort, type LocalServer, soon, withHttpServer, withTcpServer } from './local-server.ts';

type OpenExchange = { readonly httpClient: HttpClient; readonly close: () => Promise<void> };

const SECRET = 'sk-secret-of-the-backend';
const never = new AbortController().signal;

export const get = (url: string, changes: Partial<HttpRequest> = {}): HttpRequest => ({
  method: 'GET',
  url,
  headers: { authorization: `Bearer ${SECRET}` },
  signal: never,
  limitBytes: 1_000_000,
  ...changes,
});
export const post = (url: string, changes: Partial<HttpRequest> = {}): HttpRequest =>
  get(url, { method: 'POST', body: '{"model":"m"}', ...changes });

/** The code of an `HttpClientError` that says nothing of the host, the key or what the server said. */
export const codeOf = async (received: Promise<HttpResponse>): Promise<string> => {
  const error = await soon(rejection(received), 'a rejection');
  assert.instance(error, HttpClientError);
  const { code, message, stack, cause } = error as HttpClientError;
  assert.match(code, /^\w+$/);
  assert.is(cause, undefined);
  for (const word of [SECRET, '127.0.0.1', 'localhost', 'http', '.invalid', 'canary']) {
    assert.not.ok(message.includes(word), message);
    assert.not.ok(stack?.split('\n')[0]?.includes(word), stack);
  }
  return code;
};

/** What comes first: the outcome, or the end of the 100 ms that a caller may be kept. */
const atOnce = (outcome: Promise<unknown>): Promise<unknown> => {
  const tooLate = new Promise((resolve) => setTimeout(resolve, 100, 'still waiting after 100 ms'));
  return Promise.race([outcome, tooLate]);
};

/** Aborts and demands that the exchange rejects with that very reason, long before anything else could end it. */
const leavesAtOnce = async (received: Promise<HttpResponse>, controller: AbortController): Promise<void> => {
  const reason = new Fault({ kind: 'client-left' });
  const rejected = rejection(received);
  controller.abort(reason);
  assert.is(await atOnce(rejected), reason);
};

const closing = (socket: LocalServer['sockets'][number] | undefined): Promise<unknown> => {
  if (socket === undefined) throw new Error('Nobody connected');
  return soon(
    new Promise((resolve) => (socket.destroyed ? resolve(undefined) : socket.on('close', resolve))),
    'the client to hang up',
  );
};

const bodyOf = async (message: IncomingMessage): Promise<string> => {
  let text = '';
  for await (const chunk of message) text += chunk;
  return text;
};

/** What every way of sending has to keep, whatever it is made of. */
/** `repeated` is what may be sent over a connection that was used before. */
export const exchangeContract = (check: Check, open: () => OpenExchange, repeated = post): void => {
  const using = async (body: (httpClient: HttpClient) => Promise<void>): Promise<void> => {
    const { httpClient, close } = open();
    try {
      await body(httpClient);
    } finally {
      await soon(close(), 'the exchange to close');
    }
  };
  /** One check with a server and an exchange of its own. */
  const withHttp = (
    listener: Parameters<typeof withHttpServer>[0],
    body: (httpClient: HttpClient, local: LocalServer) => Promise<void>,
  ) => using((httpClient) => withHttpServer(listener, (local) => body(httpClient, local)));
  const withTcp = (
    onSocket: Parameters<typeof withTcpServer>[0],
    body: (httpClient: HttpClient, local: LocalServer) => Promise<void>,
  ) => using((httpClient) => withTcpServer(onSocket, (local) => body(httpClient, local)));

  for (const [encoding, encode] of Object.entries({ gzip: gzipSync, br: brotliCompressSync, deflate: deflateSync })) {
    const encoded = (text: string, body: (httpClient: HttpClient, local: LocalServer) => Promise<void>) =>
      withHttp(
        (_request, response) => void response.writeHead(200, { 'content-encoding': encoding }).end(encode(text)),
        body,
      );
    check(`decodes an answer in ${encoding}, which it did not ask for`, () =>
      encoded('{"a":"ä"}', async (httpClient, { url }) => {
        assert.is((await httpClient(get(url))).text, '{"a":"ä"}');
      }),
    );
    check(`takes no more than its limit out of an answer in ${encoding}`, () =>
      encoded('x'.repeat(1_000_000), async (httpClient, { url }) => {
        assert.is(await codeOf(httpClient(get(url, { limitBytes: 10_000 }))), 'ANSWER_TOO_LARGE');
      }),
    );
    check(`has no answer where one in ${encoding} is broken`, () =>
      withHttp(
        (_request, response) => void response.writeHead(200, { 'content-encoding': encoding }).end('not encoded'),
        async (httpClient, { url }) => {
          await codeOf(httpClient(get(url)));
        },
      ),
    );
  }

  check('sends what it was given, and reports status, headers and text', async () => {
    const seen: { method?: string | undefined; url?: string | undefined; key?: string | undefined; body: string }[] =
      [];
    await withHttp(
      async (request, response) => {
        const { method, url, headers } = request;
        seen.push({ method, url, key: headers['x-key'] as string | undefined, body: await bodyOf(request) });
        response.writeHead(201, { 'Retry-After': '7', 'X-Mixed': 'CaSe' }).end('{"a":"ä"}');
      },
      async (httpClient, { url }) => {
        const body = '{"text":"Grüße, 世界 😀"}';
        const received = await httpClient(post(`${url}/api/chat?x=1`, { headers: { 'x-key': SECRET }, body }));
        assert.is(received.status, 201);
        assert.is(received.text, '{"a":"ä"}');
        assert.is(received.header('retry-after'), '7');
        assert.is(received.header('x-mixed'), 'CaSe');
        assert.is(received.header('x-absent'), null);
        assert.is((await httpClient(get(`${url}/api/version`))).status, 201);
        assert.equal(seen, [
          { method: 'POST', url: '/api/chat?x=1', key: SECRET, body },
          { method: 'GET', url: '/api/version', key: undefined, body: '' },
        ]);
      },
    );
  });

  check('leaves the headers that it was given as they are', () =>
    withHttp(
      (_request, response) => void response.end('{}'),
      async (httpClient, { url }) => {
        const headers = Object.freeze({ accept: 'application/json' });
        assert.is((await httpClient(post(url, { headers }))).text, '{}');
      },
    ),
  );

  check('gives every status back with its text', () =>
    withHttp(
      ({ url }, response) =>
        void response.writeHead(Number(url?.slice(1))).end(url === '/204' ? undefined : `it is ${url}`),
      async (httpClient, { url }) => {
        for (const status of [200, 206, 400, 401, 402, 403, 404, 408, 413, 429, 500, 502, 503, 504]) {
          const received = await httpClient(repeated(`${url}/${status}`));
          assert.equal([received.status, received.text], [status, `it is /${status}`]);
        }
        const empty = await httpClient(get(`${url}/204`));
        assert.equal([empty.status, empty.text], [204, '']);
      },
    ),
  );

  check('takes a redirect for an answer, and brings no key to where it leads', async () => {
    const unknownNames: string[] = [];
    await withHttpServer(
      ({ headers }, response) => {
        unknownNames.push(String(headers.authorization));
        response.end('stolen');
      },
      (unknownName) =>
        withHttp(
          ({ url }, response) => {
            response.writeHead(Number(url?.slice(1)), { location: `${unknownName.url}/elsewhere` }).end('moved');
          },
          async (httpClient, { url }) => {
            for (const status of [301, 302, 303, 307, 308]) {
              for (const sent of [get(`${url}/${status}`), post(`${url}/${status}`)]) {
                assert.is((await httpClient(sent)).status, status);
              }
            }
          },
        ),
    );
    assert.equal(unknownNames, []);
  });

  check('puts letters together that arrive in pieces', () => {
    const bytes = Buffer.from('{"t":"😀世"}');
    return withHttp(
      async (_request, response) => {
        for (const byte of bytes) {
          response.write(Buffer.from([byte]));
          await new Promise(setImmediate);
        }
        response.end();
      },
      async (httpClient, { url }) => assert.is((await httpClient(get(url))).text, '{"t":"😀世"}'),
    );
  });

  check('takes an answer of just the limit, and not a byte more', () =>
    withHttp(
      ({ url }, response) => void response.end('ä'.repeat(Number(url?.slice(1)) / 2)),
      async (httpClient, { url }) => {
        assert.is((await httpClient(get(`${url}/1000`, { limitBytes: 1000 }))).text.length, 500);
        assert.is(await codeOf(httpClient(get(`${url}/1002`, { limitBytes: 1000 }))), 'ANSWER_TOO_LARGE');
        assert.is(await codeOf(httpClient(get(`${url}/1000000`, { limitBytes: 1000 }))), 'ANSWER_TOO_LARGE');
      },
    ),
  );

  check('hangs up on an answer that never ends', () =>
    withHttp(
      (_request, response) => {
        const more = () => {
          while (!response.destroyed && response.write('x'.repeat(10_000)));
        };
        response.on('drain', more);
        more();
      },
      async (httpClient, { url, sockets }) => {
        assert.is(await codeOf(httpClient(get(url, { limitBytes: 100_000 }))), 'ANSWER_TOO_LARGE');
        await closing(sockets[0]);
      },
    ),
  );

  check('sends nothing for a caller that has left already', async () => {
    let requests = 0;
    await withHttp(
      (_request, response) => {
        requests += 1;
        response.end();
      },
      async (httpClient, { url }) => {
        const reason = new Fault({ kind: 'backend-timeout' });
        assert.is(await rejection(httpClient(post(url, { signal: AbortSignal.abort(reason) }))), reason);
        await httpClient(get(url));
        assert.is(requests, 1);
      },
    );
  });

  check('keeps no caller waiting for a connection that has left already', () =>
    withTcp(
      () => {},
      async (httpClient, { port }) => {
        const controller = new AbortController();
        const reason = new Fault({ kind: 'client-left' });
        controller.abort(reason);
        const received = httpClient(post(`https://127.0.0.1:${port}`, { signal: controller.signal }));
        assert.is(await atOnce(rejection(received)), reason);
      },
    ),
  );

  check('lets a caller go that leaves before there is a connection, and sends nothing for it', async () => {
    const seen: (string | undefined)[] = [];
    await withHttp(
      ({ url }, response) => {
        seen.push(url);
        response.end();
      },
      async (httpClient, { url }) => {
        const controller = new AbortController();
        await leavesAtOnce(httpClient(post(`${url}/left`, { signal: controller.signal })), controller);
        for (let index = 0; index < 3; index++) await httpClient(get(`${url}/stayed`));
        assert.equal(seen, ['/stayed', '/stayed', '/stayed']);
      },
    );
  });

  check('lets a caller go that leaves while TLS is being agreed', () => {
    const connected = Promise.withResolvers<void>();
    return withTcp(
      (socket) => void socket.on('data', () => connected.resolve()),
      async (httpClient, { port }) => {
        const controller = new AbortController();
        const received = httpClient(post(`https://127.0.0.1:${port}`, { signal: controller.signal }));
        await soon(connected.promise, 'a connection');
        await leavesAtOnce(received, controller);
      },
    );
  });

  check('lets a caller go that leaves before the answer begins, and hangs up', () => {
    const asked = Promise.withResolvers<void>();
    return withHttp(
      () => asked.resolve(),
      async (httpClient, { url, sockets }) => {
        const controller = new AbortController();
        const received = httpClient(post(url, { signal: controller.signal }));
        await soon(asked.promise, 'the request');
        await leavesAtOnce(received, controller);
        await closing(sockets[0]);
      },
    );
  });

  check('lets a caller go that leaves in the middle of the answer, and hangs up', () =>
    withHttp(
      (_request, response) => void response.writeHead(200, { 'content-type': 'application/json' }).write('{"model":'),
      async (httpClient, { url, sockets }) => {
        const controller = new AbortController();
        const received = httpClient(post(url, { signal: controller.signal }));
        // The first byte has left the server; what the client has read of it does not matter.
        while (sockets[0] === undefined || sockets[0].bytesWritten === 0) await new Promise(setImmediate);
        await leavesAtOnce(received, controller);
        await closing(sockets[0]);
      },
    ),
  );

  check('does not mind a caller that leaves after the answer', () =>
    withHttp(
      (_request, response) => void response.end('whole'),
      async (httpClient, { url, sockets }) => {
        const controller = new AbortController();
        const received = await httpClient(post(url, { signal: controller.signal }));
        controller.abort(new Fault({ kind: 'client-left' }));
        assert.is(received.text, 'whole');
        assert.is((await httpClient(post(url))).text, 'whole');
        assert.ok(sockets.length <= 2);
      },
    ),
  );

  const HEAD = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n';
  const BREAKS: Readonly<Record<string, (socket: LocalServer['sockets'][number]) => void>> = {
    'resets before the answer': (socket) => void socket.resetAndDestroy(),
    'closes before the answer': (socket) => void socket.end(),
    'closes within the head': (socket) => void socket.end('HTTP/1.1 200 OK\r\ncontent-type: appl'),
    'resets within the body': (socket) => {
      socket.write(`${HEAD}content-length: 100\r\n\r\n{"canary":`, () => socket.resetAndDestroy());
    },
    'closes before the length it promised': (socket) =>
      void socket.end(`${HEAD}content-length: 100\r\n\r\n{"canary":1}`),
    'closes before the last chunk': (socket) =>
      void socket.end(`${HEAD}transfer-encoding: chunked\r\n\r\nc\r\n{"canary":1}\r\n`),
    'answers in another protocol': (socket) => void socket.end('220 canary ESMTP ready\r\n'),
  };
  for (const [what, onRequest] of Object.entries(BREAKS)) {
    check(`has no answer from a server that ${what}`, () =>
      withTcp(
        (socket) => void socket.once('data', () => onRequest(socket)),
        async (httpClient, { url }) => void (await codeOf(httpClient(post(url)))),
      ),
    );
  }

  check('names a refused connection by its code', () =>
    using(async (httpClient) => {
      assert.is(await codeOf(httpClient(post(`http://127.0.0.1:${await closedPort()}`))), 'ECONNREFUSED');
    }),
  );

  check('has no answer from a server without TLS where TLS was expected', () =>
    withHttp(
      (_request, response) => void response.end('{}'),
      async (httpClient, { port }) => void (await codeOf(httpClient(post(`https://127.0.0.1:${port}`)))),
    ),
  );

  check('names a host that does not exist by a code, without its name', () =>
    using(async (httpClient) => {
      // A label over 63 letters is refused by the resolver itself: no name server is asked.
      const code = await codeOf(httpClient(post(`http://${'a'.repeat(70)}.invalid`)));
      assert.match(code, /^E[A-Z_]+$/);
    }),
  );

  check('takes a header that cannot be sent for a failure, and keeps the key to itself', () =>
    withHttp(
      (_request, response) => void response.end('{}'),
      async (httpClient, { url }) => {
        for (const key of [`${SECRET}\r\nx-evil: 1`, `${SECRET}\u0000`, `${SECRET}世`]) {
          await codeOf(httpClient(post(url, { headers: { authorization: `Bearer ${key}` } })));
        }
      },
    ),
  );

  check('keeps to few connections over many calls, whatever their status', () =>
    withHttp(
      ({ url }, response) => void response.writeHead(Number(url?.slice(1)), { location: '/' }).end('x'.repeat(5_000)),
      async (httpClient, { url, sockets }) => {
        for (const status of [200, 302, 401, 429, 500]) {
          for (let index = 0; index < 10; index++) await httpClient(repeated(`${url}/${status}`));
        }
        assert.ok(sockets.length <= 2, `${sockets.length} connections`);
      },
    ),
  );
};
