import type { ServerResponse } from 'node:http';
import * as assert from 'uvu/assert';
import { systemClock } from '../../../../../src/adapter/node/clock.ts';
import { createMcpTransports } from '../../../../../src/agent/adapter/mcp/transports.ts';
import { connectMcp, type McpConnection, type McpTransport } from '../../../../../src/agent/tools/mcp/client.ts';
import { describe } from '../../../../check.ts';
import { until } from '../../../tools/mcp/child.ts';
import { type HttpNeeds, type HttpToolServer, startHttpToolServer } from '../http-server.ts';
import { HEADERS, NOBODY, problem } from './world.ts';

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

    check(`goes on after a message of 5,000 levels that nobody waits for (${kind})`, async () => {
      let stream: ServerResponse | undefined;
      const before: HttpNeeds['before'] = ({ method }, response) => {
        if (method === 'GET') stream = response;
        return false;
      };
      await withRemote({ kind, before }, async ({ call }) => {
        const deep = `${'['.repeat(5000)}${']'.repeat(5000)}`;
        stream?.write(`event: message\ndata: {"jsonrpc":"2.0","id":1000,"result":{"x":${deep}}}\n\n`);
        assert.is(await call({ words: 'still here' }), 'still here');
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
