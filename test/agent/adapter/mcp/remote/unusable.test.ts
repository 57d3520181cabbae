import * as assert from 'uvu/assert';
import { systemClock } from '../../../../../src/adapter/node/clock.ts';
import { createMcpTransports } from '../../../../../src/agent/adapter/mcp/transports.ts';
import { connectMcp } from '../../../../../src/agent/tools/mcp/client.ts';
import { describe } from '../../../../check.ts';
import { type HttpNeeds, startHttpToolServer } from '../http-server.ts';
import { HEADERS, NOBODY, problem } from './world.ts';

/** How connecting to an address fails. */
const failure = async (url: string, timeoutMs = 20_000): Promise<string> => {
  const transport = createMcpTransports().remote({ url, headers: HEADERS });
  try {
    return await problem(
      connectMcp({ transport, clock: systemClock, timeoutMs, version: '0', onToolsChanged: () => {} }, NOBODY),
    );
  } finally {
    await transport.close();
  }
};
const failureAt = async (needs: HttpNeeds, timeoutMs?: number): Promise<string> => {
  const server = await startHttpToolServer(needs);
  try {
    return await failure(server.url, timeoutMs);
  } finally {
    await server.stop();
  }
};
const replying =
  (status: number, headers: Readonly<Record<string, string>> = {}): NonNullable<HttpNeeds['before']> =>
  (_request, response) => {
    response.writeHead(status, headers).end('CANARY-body');
    return true;
  };

describe('a tool server over HTTP that cannot be used', (check) => {
  check('asks for credentials, which is reported without an attempt to get some', async () => {
    const server = await startHttpToolServer({
      kind: 'streamable',
      before: replying(401, { 'www-authenticate': 'Bearer resource_metadata="http://127.0.0.1:1/CANARY"' }),
    });
    try {
      assert.is(await failure(server.url), 'needs-auth: The server asks for credentials (HTTP 401)');
      assert.equal(
        server.seen.map(({ method, path }) => `${method} ${path}`),
        ['POST /mcp'],
      );
    } finally {
      await server.stop();
    }
  });

  check('asks for credentials in the older way too', async () => {
    const before: HttpNeeds['before'] = (request, response) =>
      replying(request.method === 'POST' ? 405 : 401)(request, response);
    assert.match(await failureAt({ kind: 'sse', before }), /^needs-auth: /);
  });

  check('says no, in words of ours', async () => {
    assert.is(await failureAt({ kind: 'streamable', before: replying(403) }), 'refused: Answered with HTTP 403');
    assert.is(await failureAt({ kind: 'streamable', before: replying(404) }), 'refused: Answered with HTTP 404');
    assert.is(await failureAt({ kind: 'streamable', before: replying(429) }), 'refused: Answered with HTTP 429');
    assert.is(await failureAt({ kind: 'streamable', before: replying(503) }), 'refused: Answered with HTTP 503');
    const page = replying(200, { 'content-type': 'text/html' });
    assert.is(await failureAt({ kind: 'streamable', before: page }), 'unusable: Answered with neither JSON nor events');
    const json = replying(200, { 'content-type': 'application/json' });
    assert.match(await failureAt({ kind: 'streamable', before: json }), /^un(usable|reachable): /);
  });

  check('is asked in the older way only after a refusal that may mean that', async () => {
    for (const status of [401, 403, 429, 500]) {
      const server = await startHttpToolServer({ kind: 'streamable', before: replying(status) });
      await failure(server.url);
      await server.stop();
      assert.is(server.seen.length, 1, `HTTP ${status}`);
    }
    const server = await startHttpToolServer({ kind: 'streamable', before: replying(405) });
    await failure(server.url);
    await server.stop();
    assert.equal(
      server.seen.map(({ method }) => method),
      ['POST', 'GET'],
    );
  });

  check('is not there, or never answers', async () => {
    const server = await startHttpToolServer({ kind: 'streamable' });
    await server.stop();
    assert.is(await failure(server.url), 'unreachable: The server cannot be reached');
    const silent: HttpNeeds['before'] = () => true;
    assert.is(await failureAt({ kind: 'streamable', before: silent }, 300), 'timeout: No answer within 300 ms');
    const halfway: HttpNeeds['before'] = (request, response) => {
      if (request.method === 'POST') return replying(405)(request, response);
      response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
      return true;
    };
    assert.is(await failureAt({ kind: 'sse', before: halfway }, 300), 'timeout: No answer within 300 ms');
  });

  check('breaks the connection off in the middle of its first answer', async () => {
    const breaking: HttpNeeds['before'] = (request, response) => {
      if (request.method !== 'POST') return false;
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write('event: message\n');
      setTimeout(() => response.destroy(), 20);
      return true;
    };
    assert.is(await failureAt({ kind: 'streamable', before: breaking }), 'ended: The connection broke');
  });

  check('sends elsewhere, where nothing is asked and no header goes', async () => {
    for (const status of [301, 302, 303, 307, 308]) {
      const elsewhere = await startHttpToolServer({ kind: 'streamable' });
      const location = elsewhere.url.replace('127.0.0.1', 'localhost');
      for (const kind of ['streamable', 'sse'] as const) {
        const before: HttpNeeds['before'] = (request, response) =>
          replying(kind === 'sse' && request.method === 'POST' ? 405 : status, { location })(request, response);
        const failed = await failureAt({ kind, before });
        assert.match(
          failed,
          kind === 'sse' ? /^refused: Answered with HTTP 405$/ : `HTTP ${status}, which is not followed`,
        );
      }
      await elsewhere.stop();
      assert.equal(elsewhere.seen, []);
    }
  });

  check('names an address elsewhere for its messages', async () => {
    const elsewhere = await startHttpToolServer({ kind: 'streamable' });
    const before: HttpNeeds['before'] = (request, response) => {
      if (request.method === 'POST') return replying(405)(request, response);
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(`event: endpoint\ndata: ${elsewhere.url}\n\n`);
      return true;
    };
    assert.match(await failureAt({ kind: 'sse', before }), /^refused: /);
    await elsewhere.stop();
    assert.equal(elsewhere.seen, []);
  });
});
