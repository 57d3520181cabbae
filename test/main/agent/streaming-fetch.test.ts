import type { IncomingMessage, ServerResponse } from 'node:http';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import * as assert from 'uvu/assert';
import { createProxiedFetch } from '../../../src/adapter/node/undici-client.ts';
import { createStreamingFetch } from '../../../src/agent/adapter/streaming-fetch.ts';
import { describe, rejection } from '../../check.ts';
import { withHttpServer } from '../../core/http/local-server.ts';

type Ask = (body?: string | Blob, signal?: AbortSignal) => ReturnType<ReturnType<typeof createStreamingFetch>>;

/** Asks a server of this machine. */
const withServer = (
  serve: (request: IncomingMessage, response: ServerResponse) => void,
  body: (ask: Ask) => Promise<void>,
): Promise<void> =>
  withHttpServer(serve, async ({ url }) => {
    const { dispatcher, close } = createProxiedFetch({});
    const send = createStreamingFetch(dispatcher);
    try {
      await body((content = '{}', signal = new AbortController().signal) =>
        send(`${url}/chat?a=1`, {
          method: 'POST',
          headers: { 'x-one': '1' },
          body: content,
          redirect: 'manual',
          signal,
        }),
      );
    } finally {
      await close();
    }
  });

const textOf = async ({ body }: { readonly body: ReadableStream<Uint8Array> | null }): Promise<string> =>
  new Response(body).text();

describe('a request to a model over connections of its own', (check) => {
  check('sends a text or a blob with its length, and nothing that asks for an encoding', () => {
    const seen: unknown[] = [];
    const serve = (request: IncomingMessage, response: ServerResponse) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk) => chunks.push(chunk));
      request.on('end', () => {
        const { 'content-length': length, 'accept-encoding': encoding, 'x-one': one } = request.headers;
        seen.push([request.method, request.url, length, encoding, one, Buffer.concat(chunks).toString()]);
        response.writeHead(418, { 'X-Back': 'yes' }).end('short and stout');
      });
    };
    return withServer(serve, async (ask) => {
      for (const content of ['{"ä":1}', new Blob(['{"ä"', ':1}'])]) {
        const response = await ask(content);
        assert.equal([response.status, response.ok, response.headers.get('x-back')], [418, false, 'yes']);
        assert.is(await textOf(response), 'short and stout');
      }
      assert.equal(seen, Array(2).fill(['POST', '/chat?a=1', '8', undefined, '1', '{"ä":1}']));
    });
  });

  check('gives the head before the body, past early hints', () => {
    const replies: ServerResponse[] = [];
    const serve = (_: IncomingMessage, response: ServerResponse) => {
      replies.push(response);
      response.writeEarlyHints({ link: '</a>; rel=preload' });
      response.writeHead(200).write('first');
    };
    return withServer(serve, async (ask) => {
      const response = await ask();
      assert.is(response.status, 200);
      replies[0]?.end(' second');
      assert.is(await textOf(response), 'first second');
    });
  });

  for (const [encoding, encode] of [
    ['gzip', gzipSync],
    ['br', brotliCompressSync],
  ] as const) {
    check(`reads an answer that was encoded all the same: ${encoding}`, () =>
      withServer(
        (_, response) => response.writeHead(200, { 'content-encoding': encoding }).end(encode('words '.repeat(9000))),
        async (ask) => assert.is(await textOf(await ask()), 'words '.repeat(9000)),
      ),
    );
  }

  check('fails with an encoding that is unknown', () =>
    withServer(
      (_, response) => response.writeHead(200, { 'content-encoding': 'zstd9' }).end('x'),
      async (ask) => assert.match(String(await rejection(ask())), 'ANSWER_ENCODING'),
    ),
  );

  check('is paused while nobody reads its answer', () => {
    let sentBytes = 0;
    const serve = (_: IncomingMessage, response: ServerResponse) => {
      const more = () => {
        while (!response.destroyed) {
          sentBytes += 65_536;
          if (!response.write(Buffer.alloc(65_536))) return void response.once('drain', more);
        }
      };
      more();
    };
    return withServer(serve, async (ask) => {
      const { body } = await ask();
      let before = -1;
      while (before !== sentBytes) {
        before = sentBytes;
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
      assert.ok(sentBytes < 32 * 1024 * 1024, `${sentBytes} bytes were sent`);
      await body?.cancel();
    });
  });

  check('ends with the reason of the caller who leaves, before the head and after it', () => {
    const left = new Error('The caller left');
    const gone: Promise<void>[] = [];
    let isSilent = true;
    const serve = (_: IncomingMessage, response: ServerResponse) => {
      gone.push(new Promise((resolve) => response.once('close', resolve)));
      if (!isSilent) response.writeHead(200).write('first');
      else leaving.abort(left);
    };
    let leaving = new AbortController();
    return withServer(serve, async (ask) => {
      assert.is(await rejection(ask('{}', leaving.signal)), left);
      assert.is(await rejection(ask('{}', leaving.signal)), left);
      isSilent = false;
      leaving = new AbortController();
      const response = await ask('{}', leaving.signal);
      leaving.abort(left);
      assert.is(await rejection(textOf(response)), left);
      await Promise.all(gone);
    });
  });

  check('fails in the middle when the connection breaks', () =>
    withServer(
      (_, response) => {
        response.writeHead(200).write('first');
        setTimeout(() => response.destroy(), 20);
      },
      async (ask) => {
        const failure = await rejection(textOf(await ask()));
        assert.ok(failure instanceof Error && 'code' in failure && failure.code === 'UND_ERR_SOCKET', String(failure));
      },
    ),
  );
});
