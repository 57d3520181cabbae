import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import * as assert from 'uvu/assert';
import { CONNECTION_LIMITS } from '../../../src/adapter/node/connections.ts';
import { type RunningServer, serveNode } from '../../../src/adapter/node/server.ts';
import { describe } from '../../check.ts';

const NO_LIMIT = { headMs: 60_000, idle: 1_000_000 };
const GET = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n';

/** A client of bare sockets: what the server closes is counted. */
const clientOf = (server: RunningServer) => {
  const { hostname, port } = new URL(server.address);
  const sockets: Socket[] = [];
  const open = (sent = ''): Promise<{ readonly collected: () => string; readonly isClosed: () => boolean }> =>
    new Promise((resolve, reject) => {
      let text = '';
      let isClosed = false;
      const socket = connect(Number(port), hostname, () => {
        socket.write(sent);
        resolve({ collected: () => text, isClosed: () => isClosed });
      });
      sockets.push(socket);
      socket.setEncoding('utf8').on('data', (piece: string) => {
        text += piece;
      });
      // A reset is one way of being closed.
      socket.on('error', reject).on('close', () => {
        isClosed = true;
      });
    });
  const leave = async (): Promise<void> => {
    for (const socket of sockets) socket.destroy();
    await server.stop(0);
  };
  return { open, leave };
};
const until = async (isReached: () => boolean): Promise<void> => {
  for (let waits = 0; waits < 200 && !isReached(); waits++) await sleep(20);
  assert.ok(isReached());
};
const answering = async () => new Response('yes');
const listen = (limits = NO_LIMIT, handler = answering) => serveNode(handler, { host: '127.0.0.1', port: 0, limits });

describe('connections without a running request', (check) => {
  check('are at most so many: the one that has been idle for the longest is closed', async () => {
    const client = clientOf(await listen({ ...NO_LIMIT, idle: 20 }));
    const silent: Awaited<ReturnType<typeof client.open>>[] = [];
    for (let count = 0; count < 50; count++) silent.push(await client.open());
    await until(() => silent.filter(({ isClosed }) => isClosed()).length === 30);
    assert.ok(silent.slice(0, 30).every(({ isClosed }) => isClosed()));
    const asking = await client.open(GET);
    await until(() => asking.collected().includes('yes'));
    await client.leave();
  });

  check('count again when their request is answered, and not while it runs', async () => {
    const answer = Promise.withResolvers<Response>();
    const client = clientOf(await listen({ ...NO_LIMIT, idle: 2 }, async () => (await answer.promise).clone()));
    const running = [await client.open(GET), await client.open(GET), await client.open(GET)];
    await sleep(100);
    assert.ok(running.every(({ isClosed }) => !isClosed()));
    const idle = [await client.open(), await client.open()];
    answer.resolve(new Response('yes'));
    await until(() => idle.every(({ isClosed }) => isClosed()));
    assert.ok(running.some(({ isClosed }) => !isClosed()));
    await client.leave();
  });

  check('are closed when the head of their request does not arrive in its time', async () => {
    const client = clientOf(await listen({ ...NO_LIMIT, headMs: 300 }));
    const slow = [await client.open(), await client.open('GET / HTTP/1.1\r\nHost: a\r\nx-slow: ')];
    await until(() => slow.every(({ isClosed }) => isClosed()));
    await client.leave();
  });

  check('are 1,000 for 10 s unless a test says otherwise', () => {
    assert.equal(CONNECTION_LIMITS, { headMs: 10_000, idle: 1000 });
  });
});
