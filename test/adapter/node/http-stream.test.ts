import * as assert from 'uvu/assert';
import { createNodeHttpStream } from '../../../src/adapter/node/http-client.ts';
import { Fault } from '../../../src/core/fault.ts';
import { HttpClientError, type HttpStream } from '../../../src/core/http/client.ts';
import { describe, rejection } from '../../check.ts';
import { closedPort, type LocalServer, soon, withHttpServer, withTcpServer } from '../../core/http/local-server.ts';

const SECRET = 'secret-of-the-agent';
const LEFT = new Fault({ kind: 'client-left' });
const HEAD = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n';

const open = (url: string, signal = new AbortController().signal): Promise<HttpStream> =>
  createNodeHttpStream()({ url, headers: { authorization: `Basic ${SECRET}` }, signal });

const textOf = async ({ chunks }: HttpStream): Promise<string> => {
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of chunks) text += decoder.decode(chunk, { stream: true });
  return text;
};
const codeOf = async (outcome: Promise<unknown>): Promise<string> => {
  const error = await soon(rejection(outcome), 'a rejection');
  assert.instance(error, HttpClientError);
  assert.not.match((error as Error).message, SECRET);
  return (error as HttpClientError).code;
};
const hungUp = (socket: LocalServer['sockets'][number] | undefined): Promise<unknown> =>
  soon(
    new Promise((resolve) => (socket?.destroyed ? resolve(undefined) : socket?.on('close', resolve))),
    'the client to hang up',
  );
/** The text of the next chunk. */
const nextOf = async (chunks: AsyncIterator<Uint8Array>): Promise<string | undefined> => {
  const { done, value } = await soon(chunks.next(), 'a chunk');
  return done === true ? undefined : new TextDecoder().decode(value);
};

describe("a stream over Node's own client", (check) => {
  check('reports status and headers before the body is there, and then each piece as it comes', () => {
    const more = Promise.withResolvers<void>();
    return withHttpServer(
      async ({ method, url, headers }, response) => {
        const asked = `${method} ${url} ${headers.authorization}`;
        response.writeHead(200, { 'Content-Type': 'text/event-stream', 'X-Asked': asked }).flushHeaders();
        await more.promise;
        response.write('one');
      },
      async ({ url }) => {
        const leaving = new AbortController();
        const { status, header, chunks } = await soon(open(`${url}/event?a=b`, leaving.signal), 'the head');
        assert.is(status, 200);
        assert.is(header('content-type'), 'text/event-stream');
        assert.is(header('x-asked'), `GET /event?a=b Basic ${SECRET}`);
        assert.is(header('x-absent'), null);
        const pieces = chunks[Symbol.asyncIterator]();
        more.resolve();
        assert.is(await nextOf(pieces), 'one');
        leaving.abort(LEFT);
        assert.is(await rejection(pieces.next()), LEFT);
      },
    );
  });

  check('ends when the server ends it', () =>
    withHttpServer(
      (_request, response) => void response.write('😀', () => response.end('世')),
      async ({ url }) => assert.is(await textOf(await open(url)), '😀世'),
    ),
  );

  check('hands on every status, and follows no one', () =>
    withHttpServer(
      ({ url }, response) => void response.writeHead(Number(url?.slice(1)), { location: '/200' }).end('words'),
      async ({ url }) => {
        for (const status of [200, 302, 307, 401, 404, 503]) {
          const opened = await open(`${url}/${status}`);
          assert.equal([opened.status, await textOf(opened)], [status, 'words']);
        }
      },
    ),
  );

  check('takes a connection of its own, and leaves none behind', () =>
    withHttpServer(
      (_request, response) => void response.end('x'),
      async ({ url, sockets }) => {
        for (let time = 0; time < 3; time++) await textOf(await open(url));
        assert.is(sockets.length, 3);
        await Promise.all(sockets.map(hungUp));
      },
    ),
  );

  check('hangs up when its reader stops reading', () =>
    withHttpServer(
      (_request, response) => void response.write('one'),
      async ({ url, sockets }) => {
        for await (const chunk of (await open(url)).chunks) {
          assert.is(new TextDecoder().decode(chunk), 'one');
          break;
        }
        await hungUp(sockets[0]);
      },
    ),
  );

  check('hangs up when it is left unread', () =>
    withHttpServer(
      (_request, response) => void response.writeHead(401).write('one'),
      async ({ url, sockets }) => {
        const leaving = new AbortController();
        assert.is((await open(url, leaving.signal)).status, 401);
        leaving.abort(LEFT);
        await hungUp(sockets[0]);
      },
    ),
  );

  check('asks nothing for a caller that has left already', () =>
    withTcpServer(
      () => {},
      async ({ url, sockets }) => {
        const leaving = new AbortController();
        leaving.abort(LEFT);
        assert.is(await rejection(open(url, leaving.signal)), LEFT);
        await new Promise((resolve) => setTimeout(resolve, 20));
        assert.is(sockets.length, 0);
      },
    ),
  );

  for (const scheme of ['http', 'https']) {
    for (const when of ['connects', 'waits']) {
      check(`lets its caller go at once while it ${when} (${scheme})`, () => {
        const begun = Promise.withResolvers<void>();
        return withTcpServer(
          (socket) => void socket.once('data', () => begun.resolve()),
          async ({ port, sockets }) => {
            const controller = new AbortController();
            const outcome = rejection(open(`${scheme}://127.0.0.1:${port}`, controller.signal));
            if (when === 'waits') await soon(begun.promise, 'the request');
            controller.abort(LEFT);
            assert.is(await soon(outcome, 'the caller to be let go'), LEFT);
            if (when === 'waits') await hungUp(sockets[0]);
          },
        );
      });
    }
  }

  check('waits for a server that takes its time to begin', () =>
    withTcpServer(
      (socket) => void socket.once('data', () => setTimeout(() => socket.end(`${HEAD}2\r\nhi\r\n0\r\n\r\n`), 300)),
      async ({ url }) => assert.is(await textOf(await open(url)), 'hi'),
    ),
  );

  check('reports a connection that is not made by its code', async () => {
    assert.is(await codeOf(open(`http://127.0.0.1:${await closedPort()}`)), 'ECONNREFUSED');
    assert.match(await codeOf(open(`http://${'a'.repeat(70)}.invalid`)), /^E[A-Z_]+$/);
    assert.is(await codeOf(open('no address')), 'ERR_INVALID_URL');
  });

  const BREAKS: Readonly<Record<string, (socket: LocalServer['sockets'][number]) => void>> = {
    'closes before the answer': (socket) => void socket.end(),
    'resets before the answer': (socket) => void socket.resetAndDestroy(),
    'speaks another protocol': (socket) => void socket.end('220 ESMTP ready\r\n'),
  };
  for (const [what, onRequest] of Object.entries(BREAKS)) {
    check(`has no answer from a server that ${what}`, () =>
      withTcpServer(
        (socket) => void socket.once('data', () => onRequest(socket)),
        async ({ url }) => assert.match(await codeOf(open(url)), /^\w+$/),
      ),
    );
  }

  check('distinguishes a body that was cut from one that ended', () =>
    withTcpServer(
      (socket) => void socket.once('data', () => socket.write(`${HEAD}2\r\nhi\r\n`, () => socket.end())),
      async ({ url }) => {
        const pieces = (await open(url)).chunks[Symbol.asyncIterator]();
        assert.is(await nextOf(pieces), 'hi');
        assert.is(await codeOf(pieces.next()), 'ECONNRESET');
      },
    ),
  );
});
