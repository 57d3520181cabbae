import { getEventListeners } from 'node:events';
import type { IncomingHttpHeaders } from 'node:http';
import * as assert from 'uvu/assert';
import { createUndiciClient } from '../../../src/adapter/node/undici-client.ts';
import { describe, rejection } from '../../check.ts';
import { codeOf, exchangeContract, get, post } from '../../core/http/client-contract.ts';
import { closedPort, soon, withHttpServer } from '../../core/http/local-server.ts';
import { using, withBackend } from './undici-world.ts';

describe('an exchange over undici', (check) => {
  exchangeContract(check, () => createUndiciClient({}));

  check('asks for no compression', () => {
    const seen: IncomingHttpHeaders[] = [];
    return withHttpServer(
      ({ headers }, response) => {
        seen.push(headers);
        response.end('{"ok":true}');
      },
      ({ url }) =>
        using({}, async (httpClient) => {
          await httpClient(get(url));
          assert.is(seen[0]!['accept-encoding'], undefined);
        }),
    );
  });

  check('takes the first of a header that is said twice', () =>
    withHttpServer(
      (_request, response) =>
        void response
          .writeHead(
            429,
            [
              ['retry-after', '5'],
              ['retry-after', '90'],
            ].flat(),
          )
          .end(),
      ({ url }) => using({}, async (httpClient) => assert.is((await httpClient(get(url))).header('retry-after'), '5')),
    ),
  );

  check('leaves nothing behind on a signal that outlives the call', () => {
    const { signal } = new AbortController();
    return withBackend(({ url }) =>
      using({}, async (httpClient) => {
        await httpClient(post(url, { signal }));
        await rejection(httpClient(post(url, { signal, limitBytes: 1 })));
        await rejection(httpClient(post(`http://127.0.0.1:${await closedPort()}`, { signal })));
        await rejection(httpClient(post(url, { signal, headers: { bad: '\n' } })));
        assert.equal(getEventListeners(signal, 'abort'), []);
      }),
    );
  });

  check('closes only when what runs has its answer, and takes nothing more', () => {
    const asked = Promise.withResolvers<() => void>();
    return withHttpServer(
      (_request, response) => asked.resolve(() => response.end('late')),
      async ({ url }) => {
        const { httpClient, close } = createUndiciClient({});
        const received = httpClient(post(url));
        const answer = await soon(asked.promise, 'the request');
        const closed = close();
        await codeOf(httpClient(post(url)));
        answer();
        assert.is((await received).text, 'late');
        await soon(closed, 'the exchange to close');
      },
    );
  });
});
