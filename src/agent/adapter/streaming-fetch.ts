import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ReadableStream as NodeWebStream } from 'node:stream/web';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import type { Dispatcher } from 'undici';
import { headerFrom } from '../../adapter/node/http-client.ts';
import { HttpClientError } from '../../core/http/client.ts';
import type { BackendResponse, Fetcher } from '../model/http.ts';

/** How much of a body may wait for its reader before the connection is paused. */
const BUFFER_BYTES = 64 * 1024;

type BackendBody = NonNullable<BackendResponse['body']>;

const DECODERS = { gzip: createGunzip, 'x-gzip': createGunzip, deflate: createInflate, br: createBrotliDecompress };

/** A body as it was before its content encoding. We ask for none, and proxies in front of a backend encode all the same. */
const decoded = (body: BackendBody, encoding: string | null): BackendBody => {
  const name = encoding?.trim().toLowerCase() ?? '';
  if (name === '' || name === 'identity') return body;
  const create = Object.entries(DECODERS).find(([known]) => known === name)?.[1];
  if (create === undefined) {
    void body.cancel().catch(() => {});
    throw new HttpClientError('ANSWER_ENCODING');
  }
  const decoder = create();
  // Node's types of its own web streams differ from the global ones.
  const source: AsyncIterable<Uint8Array> = body;
  pipeline(source, decoder).catch(() => {});
  const whole: NodeWebStream<Uint8Array> = Readable.toWeb(decoder);
  return whole as BackendBody;
};

type Settle = { readonly resolve: (response: BackendResponse) => void; readonly reject: (error: unknown) => void };

/** Gives a response when its head has arrived, and its body as it is read. */
const createResponseHandler = (signal: AbortSignal, { resolve, reject }: Settle): Dispatcher.DispatchHandler => {
  let connection: Dispatcher.DispatchController | undefined;
  let body: ReadableStreamDefaultController<Uint8Array<ArrayBuffer>> | undefined;
  let isOver = false;
  const fail = (error: unknown): void => {
    if (isOver) return;
    isOver = true;
    signal.removeEventListener('abort', onAbort);
    reject(error);
    body?.error(error);
  };
  const end = (why: string): void => connection?.abort(new Error(why));
  // Rejects at once: a connection that is being opened may take long.
  const onAbort = (): void => {
    fail(signal.reason);
    end('The caller has aborted');
  };
  signal.addEventListener('abort', onAbort, { once: true });
  return {
    onRequestStart(started) {
      connection = started;
      if (isOver) end('The caller has aborted');
    },
    onResponseStart(_controller, status, received) {
      // Early hints are no answer.
      if (status < 200) return;
      const get = headerFrom(received);
      const raw = new ReadableStream<Uint8Array<ArrayBuffer>>(
        {
          start: (controller) => {
            body = controller;
          },
          pull: () => connection?.resume(),
          cancel() {
            isOver = true;
            signal.removeEventListener('abort', onAbort);
            end('The reader has left');
          },
        },
        { highWaterMark: BUFFER_BYTES, size: (chunk) => chunk.byteLength },
      );
      try {
        const headers = { get: (name: string) => get(name.toLowerCase()) };
        resolve({ status, ok: status >= 200 && status < 300, headers, body: decoded(raw, get('content-encoding')) });
      } catch (error) {
        reject(error);
      }
    },
    onResponseData(controller, chunk) {
      if (isOver || body === undefined) return;
      // A copy: a chunk is a part of larger memory, which would stay with it.
      body.enqueue(new Uint8Array(chunk));
      if ((body.desiredSize ?? 0) <= 0) controller.pause();
    },
    onResponseEnd() {
      if (isOver) return;
      isOver = true;
      signal.removeEventListener('abort', onAbort);
      body?.close();
    },
    onResponseError: (_controller, error) => fail(error),
  };
};

/**
 * What `fetch` does for a request whose body is in memory, over the connections of a dispatcher and for a third of the processor
 * time. It never redirects or retries, asks for no content encoding, and rejects with the signal's reason or with the
 * connection's own error, whose `code` says what happened.
 */
export const createStreamingFetch =
  (dispatcher: Dispatcher): Fetcher =>
  (url, { method, headers, body, signal }) =>
    new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason);
      const { origin, pathname, search } = new URL(url);
      // undici takes a Blob, but its type does not declare it.
      const content: object = { body };
      dispatcher.dispatch(
        // A copy of the headers: for a proxy undici adds a host to them.
        { origin, path: pathname + search, method, headers: { ...headers }, ...content },
        createResponseHandler(signal, { resolve, reject }),
      );
    });
