import * as assert from 'uvu/assert';
import { createNodeHttpClient } from '../../../src/adapter/node/http-client.ts';
import { describe } from '../../check.ts';
import { codeOf, exchangeContract, get, post } from '../../core/http/client-contract.ts';
import { withHttpServer } from '../../core/http/local-server.ts';

describe("an exchange over Node's own client", (check) => {
  exchangeContract(check, createNodeHttpClient, get);

  check('sends a 421 no second time', () => {
    let requests = 0;
    return withHttpServer(
      (_request, response) => {
        requests += 1;
        response.writeHead(421).end('misdirected');
      },
      async ({ url }) => {
        const { httpClient, close } = createNodeHttpClient();
        await httpClient(get(url));
        assert.is((await httpClient(post(url))).status, 421);
        assert.is(requests, 2);
        await close();
      },
    );
  });

  check('changes nothing over a connection that was used before', () => {
    const sockets = new Set<unknown>();
    return withHttpServer(
      (request, response) => {
        sockets.add(request.socket);
        response.end('{}');
      },
      async ({ url }) => {
        const { httpClient, close } = createNodeHttpClient();
        for (let time = 0; time < 3; time++) await httpClient(get(url));
        assert.is(sockets.size, 1);
        await httpClient(post(url));
        await httpClient(post(url));
        assert.is(sockets.size, 3);
        await close();
      },
    );
  });

  check('changes what may be changed twice over a kept connection, and again when that was closed', () => {
    const used = new Map<unknown, number>();
    const seen: string[] = [];
    return withHttpServer(
      (request, response) => {
        const times = (used.get(request.socket) ?? 0) + 1;
        used.set(request.socket, times);
        seen.push(`${request.method} ${used.size} ${times}`);
        if (times === 3) request.socket.destroy();
        else response.end('{}');
      },
      async ({ url }) => {
        const { httpClient, close } = createNodeHttpClient();
        const change = post(url, { method: 'PATCH', body: '{"a":1}', isRepeatable: true });
        for (let time = 0; time < 3; time++) assert.is((await httpClient(change)).status, 200);
        assert.equal(seen, ['PATCH 1 1', 'PATCH 1 2', 'PATCH 1 3', 'PATCH 2 1']);
        assert.is((await httpClient(post(url, { isRepeatable: false }))).status, 200);
        assert.is(seen.at(-1), 'POST 3 1');
        await close();
      },
    );
  });

  check('sends a long body again when the kept connection was closed while it was on its way', () => {
    let received = 0;
    return withHttpServer(
      async (request, response) => {
        let bytes = 0;
        for await (const piece of request) bytes += piece.byteLength;
        received = bytes;
        response.end('{}');
      },
      async ({ url, sockets }) => {
        const { httpClient, close } = createNodeHttpClient();
        await httpClient(get(url));
        for (const socket of sockets) socket.destroy();
        const body = 'x'.repeat(8_000_000);
        assert.is((await httpClient(post(url, { body, isRepeatable: true }))).status, 200);
        assert.is(received, body.length);
        assert.is(sockets.length, 2);
        await close();
      },
    );
  });

  check('sends nothing a second time that was the first on its connection', () => {
    let requests = 0;
    return withHttpServer(
      (request) => {
        requests += 1;
        request.socket.destroy();
      },
      async ({ url }) => {
        const { httpClient, close } = createNodeHttpClient();
        assert.is(await codeOf(httpClient(post(url, { method: 'PATCH', isRepeatable: true }))), 'ECONNRESET');
        assert.is(requests, 1);
        await close();
      },
    );
  });

  check('changes and removes, too', async () => {
    const seen: string[] = [];
    await withHttpServer(
      async (request, response) => {
        let body = '';
        for await (const chunk of request) body += chunk;
        seen.push(`${request.method} ${request.headers['content-length']} ${body}`);
        response.end('true');
      },
      async ({ url }) => {
        const { httpClient, close } = createNodeHttpClient();
        assert.is((await httpClient(post(url, { method: 'PATCH', body: '{"a":1}' }))).text, 'true');
        assert.is((await httpClient(get(url, { method: 'DELETE' }))).text, 'true');
        assert.is((await httpClient(get(url, { method: 'POST' }))).text, 'true');
        await close();
      },
    );
    assert.equal(seen, ['PATCH 7 {"a":1}', 'DELETE undefined ', 'POST 0 ']);
  });

  check('does not wait for an answer larger than allowed', () =>
    withHttpServer(
      (_request, response) => void response.write('x'.repeat(100_000)),
      async ({ url }) => {
        const { httpClient, close } = createNodeHttpClient();
        assert.is(await codeOf(httpClient(get(url, { limitBytes: 1000 }))), 'ANSWER_TOO_LARGE');
        await close();
      },
    ),
  );
});
