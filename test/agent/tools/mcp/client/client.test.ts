import { ErrorCode, McpError } from '@modelcontextprotocol/sdk/types.js';
import * as assert from 'uvu/assert';
import type { McpConnection } from '../../../../../src/agent/tools/mcp/client.ts';
import { describe, rejection } from '../../../../check.ts';
import { createFakeClock } from '../../../../fake-clock.ts';
import { never, text, tool } from '../peer.ts';
import { connected, LIMIT_MS, NOBODY, problem } from './world.ts';

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
});
