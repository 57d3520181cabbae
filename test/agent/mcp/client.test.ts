import { ErrorCode, McpError } from '@modelcontextprotocol/sdk/types.js';
import * as assert from 'uvu/assert';
import { connectMcp, type McpClientOptions, type McpConnection } from '../../../src/agent/mcp/client.ts';
import { type McpErrorKind, McpServerError } from '../../../src/agent/mcp/errors.ts';
import { describe, rejection } from '../../check.ts';
import { createFakeClock } from '../../fake-clock.ts';
import { createPeer, never, type Peer, type PeerNeeds, text, tool } from './peer.ts';

const NOBODY = new AbortController().signal;
const LIMIT_MS = 30_000;

const over = (peer: Peer, more: Partial<McpClientOptions> = {}, signal = NOBODY): Promise<McpConnection> =>
  connectMcp(
    {
      transport: peer.transport,
      clock: createFakeClock(),
      timeoutMs: LIMIT_MS,
      version: '1.2.3',
      root: undefined,
      onToolsChanged: () => {},
      ...more,
    },
    signal,
  );
const connected = async (needs: PeerNeeds = {}, more: Partial<McpClientOptions> = {}) => {
  const peer = createPeer(needs);
  return { peer, connection: await over(peer, more) };
};
const problem = async (promise: Promise<unknown>, kind: McpErrorKind): Promise<McpServerError> => {
  const error = await rejection(promise);
  assert.instance(error, McpServerError);
  assert.is((error as McpServerError).kind, kind);
  return error as McpServerError;
};
const call = (connection: McpConnection, input: Readonly<Record<string, unknown>> = {}, signal = NOBODY) =>
  connection.call({ name: 'echo', input }, signal);

describe('a connection to a tool server', (check) => {
  check('sends the server its name and version, and offers no capabilities', async () => {
    const { peer } = await connected();
    assert.equal(peer.server.getClientVersion(), { name: 'gatehouse', version: '1.2.3' });
    assert.equal(peer.server.getClientCapabilities(), {});
    assert.ok(await rejection(peer.server.listRoots()), 'there are no roots');
  });

  check('offers a server of this machine its directory as the root', async () => {
    const { peer } = await connected({}, { root: '/srv/a desk/über#1' });
    assert.equal(peer.server.getClientCapabilities(), { roots: {} });
    assert.equal(await peer.server.listRoots(), { roots: [{ uri: 'file:///srv/a%20desk/%C3%BCber%231' }] });
  });

  check('has the instructions of the server without what cannot be seen', async () => {
    const { connection } = await connected({ instructions: 'Call \u200bdescribe\u202e first.\r\nThen\u{e0041} read.' });
    assert.is(connection.instructions, 'Call describe first.\nThen read.');
    assert.is((await connected()).connection.instructions, undefined);
    const long = await connected({ instructions: 'x'.repeat(100_000) });
    assert.is(long.connection.instructions?.length, 8000);
  });

  check('sends a tool its arguments and nothing else', async () => {
    const { peer, connection } = await connected();
    await call(connection, { a: [1, { b: null }] });
    const sent = peer.received.at(-1);
    assert.equal(sent, {
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'echo', arguments: { a: [1, { b: null }] } },
    });
  });

  check('sends the trace that a call is made in beside its arguments', async () => {
    const { peer, connection } = await connected();
    const trace = { traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01', tracestate: 'vendor=a' };
    await connection.call({ name: 'echo', input: { a: 1 }, trace }, NOBODY);
    assert.equal((peer.received.at(-1) as { params?: unknown }).params, {
      name: 'echo',
      arguments: { a: 1 },
      _meta: trace,
    });
  });

  check('reads all the pages of a list', async () => {
    const pages: Readonly<Record<string, object>> = {
      first: { tools: [tool('a')], nextCursor: 'second' },
      second: { tools: [], nextCursor: 'third' },
      third: { tools: [tool('b'), tool('c')] },
    };
    const { connection } = await connected({ page: (cursor = 'first') => ({ ...pages[cursor] }) });
    assert.equal(
      (await connection.list(NOBODY)).tools.map(({ name }) => name),
      ['a', 'b', 'c'],
    );
  });

  check('reads no list without end', async () => {
    let asked = 0;
    const endless = await connected({ page: () => ({ tools: [], nextCursor: `${++asked}` }) });
    await endless.connection.list(NOBODY);
    assert.is(asked, 50);
    const same = await connected({ page: () => ({ tools: [tool(`t${++asked}`)], nextCursor: 'again' }) });
    assert.is((await same.connection.list(NOBODY)).tools.length, 2);
    const many = await connected({
      page: (cursor = '0') => ({
        tools: Array.from({ length: 150 }, (_, index) => tool(`t${cursor}_${index}`)),
        nextCursor: `${Number(cursor) + 1}`,
      }),
    });
    const { tools, skipped } = await many.connection.list(NOBODY);
    assert.equal([tools.length, skipped], [200, [{ name: 't1_50', reason: 'more than 200 tools' }]]);
  });

  check('has no tools when the server knows no lists, and a problem when the list is none', async () => {
    const { connection } = await connected({
      page: () => {
        throw new McpError(ErrorCode.MethodNotFound, 'no such method');
      },
    });
    assert.equal(await connection.list(NOBODY), { tools: [], skipped: [] });
    const odd = await connected({ page: () => ({ tools: 'all of them' }) });
    await problem(odd.connection.list(NOBODY), 'unusable');
  });

  check('passes on an error of the tool, which is data', async () => {
    const { connection } = await connected({ call: () => text('CODE: not so.', { isError: true }) });
    assert.equal(await call(connection), { text: 'CODE: not so.', files: [], isError: true });
  });

  check('does not pass on what an exception of the server says', async () => {
    const { connection } = await connected({
      call: () => {
        throw new Error('x-api-key=SECRET123');
      },
    });
    const { message, code, cause } = await problem(call(connection), 'refused');
    assert.equal([message, code, cause], ['Answered with error -32603', -32603, undefined]);
  });

  check('takes a result that breaks the tool’s own schema: what was done is done', async () => {
    const outputSchema = { type: 'object', properties: { n: { type: 'number' } }, additionalProperties: false };
    const { connection } = await connected({
      tools: () => [tool('echo', { outputSchema })],
      call: () => text('done', { structuredContent: { n: 'no number', more: 1 } }),
    });
    await connection.list(NOBODY);
    assert.equal(await call(connection), {
      text: 'done\n\n{"n":"no number","more":1}',
      files: [],
      isError: false,
    });
  });

  check('gives up a call that takes too long, and cancels it', async () => {
    const clock = createFakeClock();
    let asked: AbortSignal | undefined;
    const { connection } = await connected(
      {
        call: ({ signal }) => {
          asked = signal;
          return never();
        },
      },
      { clock },
    );
    const called = problem(call(connection), 'timeout');
    await clock.advance(LIMIT_MS - 1);
    assert.is(asked?.aborted, false);
    await clock.advance(1);
    assert.is((await called).message, 'No answer within 30000 ms');
    assert.is(asked?.aborted, true);
    assert.is(clock.pending(), 0);
  });

  check('cancels a call whose caller leaves, without saying why he does', async () => {
    const controller = new AbortController();
    let asked: AbortSignal | undefined;
    const { peer, connection } = await connected({
      call: ({ signal }) => {
        asked = signal;
        controller.abort(new Error('CANARY'));
        return never();
      },
    });
    const error = await rejection(call(connection, {}, controller.signal));
    assert.is(error, controller.signal.reason);
    assert.is(asked?.aborted, true);
    assert.not.match(JSON.stringify(peer.received), 'CANARY');
    const sent = peer.received.length;
    assert.is(await rejection(call(connection, {}, controller.signal)), error);
    assert.is(peer.received.length, sent, 'a caller who has left asks nothing');
  });

  check('leaves no timer and no cancellation behind a call that was answered', async () => {
    const clock = createFakeClock();
    const { peer, connection } = await connected({}, { clock });
    const controller = new AbortController();
    await call(connection, {}, controller.signal);
    controller.abort();
    await clock.advance(LIMIT_MS);
    assert.is(clock.pending(), 0);
    assert.not.match(JSON.stringify(peer.received), 'cancelled');
  });

  check('fails what is under way when the server ends, and everything after that', async () => {
    const { peer, connection } = await connected({ call: () => never() });
    const called = problem(call(connection), 'ended');
    await peer.server.close();
    await called;
    assert.is((await connection.closed).kind, 'ended');
    await problem(call(connection), 'ended');
    await problem(connection.list(NOBODY), 'ended');
  });

  check('takes the SDK’s own code for a closed connection from a server as the refusal that it is', async () => {
    const { connection } = await connected({
      call: () => {
        throw new McpError(ErrorCode.ConnectionClosed, 'not really');
      },
    });
    assert.is((await problem(call(connection), 'refused')).code, -32000);
    assert.is((await connection.list(NOBODY)).tools.length, 1);
  });

  check('learns that the tools have changed', async () => {
    let collected = 0;
    const { peer } = await connected(
      {},
      {
        onToolsChanged: () => {
          collected += 1;
        },
      },
    );
    await peer.server.sendToolListChanged();
    await new Promise((settle) => setImmediate(settle));
    assert.is(collected, 1);
  });
});

describe('connecting to a tool server', (check) => {
  check('fails in time when the handshake is not answered', async () => {
    const clock = createFakeClock();
    const failed = problem(over(createPeer({ isMute: true }), { clock }), 'timeout');
    await clock.advance(LIMIT_MS);
    await failed;
    assert.is(clock.pending(), 0);
  });

  check('fails in time when the transport never starts', async () => {
    const clock = createFakeClock();
    const transport = { start: () => never<void>(), send: async () => {}, close: async () => {} };
    const failed = problem(over(createPeer(), { clock, transport }), 'timeout');
    await clock.advance(LIMIT_MS);
    await failed;
  });

  check('fails with the transport’s own reason', async () => {
    const why = new McpServerError('needs-auth', 'The server asks for credentials (HTTP 401)');
    const refusing = {
      start: async () => {},
      send: async () => {
        throw why;
      },
      close: async () => {},
    };
    assert.is(await rejection(over(createPeer(), { transport: refusing })), why);
  });

  check('fails when a server speaks another protocol, or refuses the handshake', async () => {
    const answering = (answer: object) => {
      const transport: McpClientOptions['transport'] = {
        start: async () => {},
        async send(message) {
          if ('id' in message) transport.onmessage?.({ jsonrpc: '2.0', id: message.id ?? 0, ...answer } as never);
        },
        close: async () => transport.onclose?.(),
      };
      return over(createPeer(), { transport });
    };
    const result = { protocolVersion: '1999-01-01', capabilities: {}, serverInfo: { name: 'CANARY', version: '0' } };
    assert.not.match((await problem(answering({ result }), 'unusable')).message, /CANARY|1999/);
    await problem(answering({ result: { nonsense: true } }), 'unusable');
    const refused = await problem(answering({ error: { code: -32600, message: 'CANARY' } }), 'refused');
    assert.is(refused.message, 'Answered with error -32600');
  });

  check('is left at once when the caller leaves', async () => {
    const controller = new AbortController();
    const connecting = over(createPeer({ isMute: true }), {}, controller.signal);
    controller.abort();
    assert.is(await rejection(connecting), controller.signal.reason);
  });
});
