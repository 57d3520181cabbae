import { PassThrough, Writable } from 'node:stream';
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import * as assert from 'uvu/assert';
import { createStdioTransport } from '../../../src/relay-admin/adapter/stdio-transport.ts';
import { describe } from '../../check.ts';

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** A transport that was started, with what came of its input and what it wrote. */
const startedTransport = async (output: Writable = new PassThrough()) => {
  const input = new PassThrough();
  const transport = createStdioTransport({ input, output });
  const messages: JSONRPCMessage[] = [];
  const state = { errors: 0, isClosed: false };
  transport.onmessage = (message) => void messages.push(message);
  transport.onerror = () => {
    state.errors += 1;
  };
  transport.onclose = () => {
    state.isClosed = true;
  };
  await transport.start();
  const written = (): unknown[] =>
    String((output as PassThrough).read() ?? '')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line));
  return { input, transport, messages, state, written };
};

describe('MCP over standard input and output', (check) => {
  check('gives each answer to the line that asked for it, also when a batch and a request run at once', async () => {
    const { input, transport, messages, written } = await startedTransport();
    input.write('[{"jsonrpc":"2.0","id":1,"method":"a"},{"jsonrpc":"2.0","id":"1","method":"b"}]\n');
    input.write('{"jsonrpc":"2.0","id":2,"method":"c"}\n');
    await turn();
    assert.is(messages.length, 3);
    const answer = (id: string | number) => ({ jsonrpc: '2.0' as const, id, result: { of: id } });
    await transport.send(answer('1'));
    assert.equal(written(), []);
    await transport.send(answer(2));
    assert.equal(written(), [answer(2)]);
    await transport.send(answer(1));
    assert.equal(written(), [[answer('1'), answer(1)]]);
  });

  check('refuses the id of a request that still runs, in a batch and alone, and hands it on once', async () => {
    const { input, messages, written } = await startedTransport();
    const request = '{"jsonrpc":"2.0","id":1,"method":"a"}';
    input.write(`${request}\n${request}\n[${request}]\n`);
    await turn();
    assert.is(messages.length, 1);
    const codes = written().flat() as { readonly id: unknown; readonly error: { readonly code: number } }[];
    assert.equal(
      codes.map(({ id, error }) => [id, error.code]),
      [
        [1, -32600],
        [1, -32600],
      ],
    );
  });

  check('refuses a request of 5,000 levels, and passes on no answer of that depth', async () => {
    const { input, messages, written } = await startedTransport();
    const deep = `${'['.repeat(5000)}${']'.repeat(5000)}`;
    input.write(`{"jsonrpc":"2.0","id":1,"method":"a","params":{"x":${deep}}}\n`);
    input.write(`{"jsonrpc":"2.0","id":9,"result":{"x":${deep}}}\n`);
    input.write(`{"jsonrpc":"2.0","id":9,"error":{"code":1,"message":"no","data":${deep}}}\n`);
    await turn();
    assert.match(JSON.stringify(written()), /"id":1,"error":\{"code":-32600,.* at most 512 levels/);
    const failed = { jsonrpc: '2.0', id: 9, error: { code: -32603, message: 'more than 512 levels' } };
    assert.equal(messages, [failed, failed]);
  });

  check('closes the connection on a message that the SDK cannot process', async () => {
    const { input, transport, state } = await startedTransport();
    transport.onmessage = () => {
      throw new RangeError('Maximum call stack size exceeded');
    };
    input.write('{"jsonrpc":"2.0","id":1,"method":"a"}\n');
    await turn();
    assert.ok(state.isClosed);
  });

  check('cuts off whoever sends no messages without end and reads none of the answers', async () => {
    const { input, state } = await startedTransport(new Writable({ highWaterMark: 1, write() {} }));
    const lines = 'x\n'.repeat(20_000);
    for (let piece = 0; piece < 20 && !state.isClosed; piece++) {
      input.write(lines);
      await turn();
    }
    assert.ok(state.isClosed);
  });

  check('tells of a broken input and does not end the process over it', async () => {
    const { input, state } = await startedTransport();
    input.destroy(new Error('ECONNRESET'));
    await turn();
    assert.is(state.errors, 1);
  });
});
