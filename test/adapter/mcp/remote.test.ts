import * as assert from 'uvu/assert';
import { createMcpTransports } from '../../../src/adapter/mcp/transports.ts';
import { systemClock } from '../../../src/adapter/node/clock.ts';
import { connectMcp, type McpConnection, type McpTransport } from '../../../src/agent/mcp/client.ts';
import { McpServerError } from '../../../src/agent/mcp/errors.ts';
import { until } from '../../agent/mcp/child.ts';
import { describe, rejection } from '../../check.ts';
import { type HttpNeeds, type HttpToolServer, startHttpToolServer } from './http-server.ts';

const NOBODY = new AbortController().signal;
const HEADERS = { authorization: 'Bearer CANARY-token', 'x-own': 'yes' };

type Remote = {
  readonly server: HttpToolServer;
  readonly connection: McpConnection;
  readonly transport: McpTransport;
  readonly call: (input?: object, signal?: AbortSignal) => Promise<string>;
  readonly changes: () => number;
};
type RemoteNeeds = HttpNeeds & { readonly timeoutMs?: number };

/** Runs the body with a connection to a server over HTTP, and closes both, whatever came of it. */
const withRemote = async (needs: RemoteNeeds, body: (remote: Remote) => Promise<void>): Promise<void> => {
  const server = await startHttpToolServer(needs);
  const transport = createMcpTransports().remote({ url: server.url, headers: HEADERS });
  let changes = 0;
  const onToolsChanged = () => {
    changes += 1;
  };
  try {
    const { timeoutMs = 20_000 } = needs;
    const connection = await connectMcp(
      { transport, clock: systemClock, timeoutMs, version: '0', onToolsChanged },
      NOBODY,
    );
    const call = async (input: object = {}, signal = NOBODY) =>
      (await connection.call({ name: 'echo', input: { ...input } }, signal)).text;
    await body({ server, connection, transport, call, changes: () => changes });
  } finally {
    await transport.close();
    await server.stop();
  }
};
const problem = async (promise: Promise<unknown>): Promise<string> => {
  const error = await rejection(promise);
  assert.instance(error, McpServerError);
  return `${(error as McpServerError).kind}: ${(error as McpServerError).message}`;
};
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

describe('a tool server over HTTP', (check) => {
  for (const kind of ['streamable', 'stateless-json', 'sse'] as const) {
    check(`is listed, called and given the configured headers (${kind})`, async () => {
      await withRemote({ kind }, async ({ connection, call, server }) => {
        assert.equal(
          (await connection.list(NOBODY)).tools.map(({ name }) => name),
          ['echo'],
        );
        assert.is(await call({ words: 'zwölf' }), 'zwölf');
        assert.match(await call({ megabytes: 3 }), /were dropped\]$/);
        assert.ok(server.seen.length >= 4);
        for (const { headers } of server.seen)
          assert.equal([headers.authorization, headers['x-own']], ['Bearer CANARY-token', 'yes']);
      });
    });

    check(`ends the connection with a message that is too long (${kind})`, async () => {
      await withRemote({ kind }, async ({ connection, call }) => {
        assert.is(await problem(call({ megabytes: 9 })), 'ended: The server sent a message that is too long');
        assert.is((await connection.closed).kind, 'ended');
      });
    });

    check(`ends what is under way when the server goes (${kind})`, async () => {
      await withRemote({ kind }, async ({ connection, call, server }) => {
        const called = problem(call({ sleep: true }));
        await until('the call has arrived', () => server.sleeping() === 1);
        await server.stop();
        assert.match(await called, /^ended: The /);
        assert.is((await connection.closed).kind, 'ended');
      });
    });

    check(`ends when a server that is gone is called (${kind})`, async () => {
      await withRemote({ kind }, async ({ connection, call, server }) => {
        await server.stop();
        await problem(call());
        assert.is((await connection.closed).kind, 'ended');
      });
    });
  }

  for (const kind of ['streamable', 'sse'] as const) {
    check(`is informed that a call is cancelled, and the request for it ends (${kind})`, async () => {
      await withRemote({ kind, timeoutMs: 500 }, async ({ connection, call, server }) => {
        assert.is(await problem(call({ sleep: true })), 'timeout: No answer within 500 ms');
        await until('the server has heard of it', () => server.cancelled() === 1);
        assert.is(await call({ words: 'still here' }), 'still here');
        let isOver = false;
        void connection.closed.then(() => {
          isOver = true;
        });
        await new Promise((settle) => setTimeout(settle, 50));
        assert.is(isOver, false);
      });
    });

    check(`says when its tools have changed (${kind})`, async () => {
      await withRemote({ kind }, async ({ server, changes }) => {
        // The stream over which it can say so is opened after the handshake.
        await until('it was heard', () => {
          void server.listChanged();
          return changes() > 0;
        });
      });
    });

    check(`has no session left when it is closed (${kind})`, async () => {
      await withRemote({ kind }, async ({ transport, server }) => {
        assert.is(server.sessions(), 1);
        await Promise.all([transport.close(), transport.close()]);
        await until('the session is over', () => server.sessions() === 0);
      });
    });
  }

  check('that no longer knows the session ends the connection, and another can be made', async () => {
    const first = await startHttpToolServer({ kind: 'streamable' });
    const { url, port } = first;
    const transports = createMcpTransports();
    const open = async () => {
      const transport = transports.remote({ url, headers: {} });
      const needs = { clock: systemClock, timeoutMs: 5000, version: '0', onToolsChanged: () => {} };
      return { transport, connection: await connectMcp({ transport, ...needs }, NOBODY) };
    };
    const { transport, connection } = await open();
    await first.stop();
    const second = await startHttpToolServer({ kind: 'streamable', port });
    try {
      await problem(connection.call({ name: 'echo', input: {} }, NOBODY));
      assert.is((await connection.closed).kind, 'ended');
      await transport.close();
      const again = await open();
      assert.is((await again.connection.call({ name: 'echo', input: { words: 'back' } }, NOBODY)).text, 'back');
      await again.transport.close();
    } finally {
      await second.stop();
    }
  });

  check('that fails one request with HTTP 500 stays', async () => {
    let isFailing = false;
    const before: HttpNeeds['before'] = (request, response) => {
      if (!isFailing || request.method !== 'POST') return false;
      response.writeHead(500).end('CANARY-body');
      return true;
    };
    await withRemote({ kind: 'streamable', before }, async ({ call }) => {
      isFailing = true;
      assert.is(await problem(call()), 'refused: Answered with HTTP 500');
      isFailing = false;
      assert.is(await call({ words: 'still here' }), 'still here');
    });
  });

  check('that has nothing to listen to, and says so in its own way, stays', async () => {
    const before: HttpNeeds['before'] = (request, response) => {
      if (request.method !== 'GET') return false;
      response.writeHead(404).end();
      return true;
    };
    await withRemote({ kind: 'streamable', before }, async ({ call, server }) => {
      await until('it was asked', () => server.seen.some(({ method }) => method === 'GET'));
      assert.is(await call({ words: 'still here' }), 'still here');
    });
  });

  check('that ends a stream that is only listened to stays', async () => {
    let listeners = 0;
    const before: HttpNeeds['before'] = (request, response) => {
      if (request.method !== 'GET') return false;
      listeners += 1;
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.flushHeaders();
      setTimeout(() => response.end(), 5);
      return true;
    };
    await withRemote({ kind: 'streamable', before }, async ({ call }) => {
      await until('it was listened to twice', () => listeners === 2);
      assert.is(await call({ words: 'still here' }), 'still here');
    });
  });
});

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
