import { gzipSync } from 'node:zlib';
import * as assert from 'uvu/assert';
import { HttpClientError, httpClientOverFetch } from '../../../src/core/http/client.ts';
import { describe, rejection } from '../../check.ts';
import { codeOf, exchangeContract, get, post } from './client-contract.ts';
import { withHttpServer } from './local-server.ts';

const over = (fetcher: (url: unknown, init: RequestInit) => Promise<Response>) =>
  httpClientOverFetch(fetcher as typeof fetch);

describe('an exchange over fetch', (check) => {
  exchangeContract(check, () => ({ httpClient: httpClientOverFetch(fetch), close: async () => {} }));

  check('counts a compressed answer as long as it unpacks', () => {
    const packed = gzipSync('x'.repeat(1_000_000));
    return withHttpServer(
      (_request, response) => void response.writeHead(200, { 'content-encoding': 'gzip' }).end(packed),
      async ({ url }) => {
        const httpClient = httpClientOverFetch(fetch);
        assert.is((await httpClient(get(url, { limitBytes: 1_000_000 }))).text.length, 1_000_000);
        assert.is(await codeOf(httpClient(get(url, { limitBytes: 999_999 }))), 'ANSWER_TOO_LARGE');
      },
    );
  });

  check('asks the platform not to follow redirects', async () => {
    let init: RequestInit | undefined;
    const httpClient = over(async (_url, given) => {
      init = given;
      return new Response('moved', { status: 302 });
    });
    assert.is((await httpClient(post('http://backend.test'))).status, 302);
    assert.is(init?.redirect, 'manual');
  });

  check('lets go of the stream of an answer that is too long', async () => {
    let isCancelled = false;
    const endless = new ReadableStream<Uint8Array>({
      pull: (controller) => controller.enqueue(new Uint8Array(1000)),
      cancel() {
        isCancelled = true;
        throw new Error('canary: cannot be cancelled');
      },
    });
    const httpClient = over(async () => new Response(endless));
    assert.is(await codeOf(httpClient(get('http://backend.test', { limitBytes: 5000 }))), 'ANSWER_TOO_LARGE');
    assert.ok(isCancelled);
  });

  check('knows a code where the platform hides it, and invents none from words', async () => {
    const failing = (error: unknown) => over(async () => Promise.reject(error));
    const withCode = (code: unknown) => Object.assign(new Error('canary http://127.0.0.1'), { code });
    const cases: readonly (readonly [unknown, string])[] = [
      [new TypeError('fetch failed', { cause: withCode('ENOTFOUND') }), 'ENOTFOUND'],
      [withCode('ECONNRESET'), 'ECONNRESET'],
      [withCode('getaddrinfo ENOTFOUND canary'), 'CONNECTION_FAILED'],
      [withCode(''), 'CONNECTION_FAILED'],
      [withCode(7), 'CONNECTION_FAILED'],
      [withCode('A'.repeat(65)), 'CONNECTION_FAILED'],
      [new TypeError('canary'), 'CONNECTION_FAILED'],
      ['canary', 'CONNECTION_FAILED'],
      [undefined, 'CONNECTION_FAILED'],
    ];
    for (const [error, code] of cases) assert.is(await codeOf(failing(error)(post('http://backend.test'))), code);
  });

  check('rejects with the reason of the signal even when the platform rejects with something else', async () => {
    const controller = new AbortController();
    const reason = new Error('the reason');
    const httpClient = over(async () => {
      controller.abort(reason);
      throw new HttpClientError('ECONNRESET');
    });
    assert.is(await rejection(httpClient(post('http://backend.test', { signal: controller.signal }))), reason);
  });
});
