import * as assert from 'uvu/assert';
import type { McpClientOptions } from '../../../../../src/agent/tools/mcp/client.ts';
import { McpServerError } from '../../../../../src/agent/tools/mcp/errors.ts';
import { describe, rejection } from '../../../../check.ts';
import { createFakeClock } from '../../../../fake-clock.ts';
import { createPeer, never } from '../peer.ts';
import { LIMIT_MS, over, problem } from './world.ts';

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
