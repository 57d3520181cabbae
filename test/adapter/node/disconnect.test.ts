import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import * as assert from 'uvu/assert';
import { serveNode } from '../../../src/adapter/node/server.ts';
import { streamedResponse } from '../../../src/core/http/streamed-response.ts';
import { describe } from '../../check.ts';
import { soon } from '../../core/http/local-server.ts';

const REQUESTS: Readonly<Record<string, string>> = {
  'a POST': 'POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 2\r\n\r\n{}',
  'a GET': 'GET /?a=b HTTP/1.1\r\nHost: a.test\r\n\r\n',
};

const LEAVING: Readonly<Record<string, (socket: Socket) => void>> = {
  'closes its connection': (socket) => void socket.destroy(),
  'resets its connection': (socket) => void socket.resetAndDestroy(),
  'ends its side of the connection': (socket) => void socket.end(),
};

const PIECE = 'x'.repeat(65_536);
const NOTICED_MS = 1000;

/** Waits until nothing more is written: then the buffers of both sides are full. */
const untilFull = async (written: () => number): Promise<void> => {
  for (let before = -1; written() !== before; await sleep(100)) before = written();
};

/**
 * How long it takes until the body of a response learns that its client has left, a client that reads nothing.
 * `isEndless`: it has more to write than the connection takes. Otherwise it writes one piece and then waits.
 */
const noticedAfterMs = async (sent: string, leave: (socket: Socket) => void, isEndless: boolean): Promise<number> => {
  const told = Promise.withResolvers<void>();
  let pieces = 0;
  const { error: writeError } = console;
  const complaints: unknown[] = [];
  // The library tells of its errors there, such as of a head that is written twice.
  console.error = (...words: readonly unknown[]) => void complaints.push(...words);
  const handler = async (request: Request): Promise<Response> => {
    await request.text();
    return streamedResponse(async ({ write }, left) => {
      left.addEventListener('abort', () => told.resolve());
      do {
        pieces += 1;
        await write(PIECE);
      } while (isEndless && !left.aborted);
      await told.promise;
    }, {});
  };
  const server = await serveNode(handler, { host: '127.0.0.1', port: 0 });
  const socket = connect(Number(new URL(server.address).port), '127.0.0.1').pause();
  socket.on('error', () => {});
  try {
    await once(socket, 'connect');
    socket.write(sent);
    while (pieces === 0) await sleep(5);
    await untilFull(() => pieces);
    const leftAt = performance.now();
    leave(socket);
    await soon(told.promise, 'the body to be told');
    const tookMs = performance.now() - leftAt;
    await sleep(50);
    assert.equal(complaints, []);
    return tookMs;
  } finally {
    socket.destroy();
    await server.stop(0);
    console.error = writeError;
  }
};

describe('the body of a streamed response', (check) => {
  for (const [request, sent] of Object.entries(REQUESTS))
    for (const [deed, leave] of Object.entries(LEAVING)) {
      check(`is told that a client has left which reads nothing and ${deed}: ${request}`, async () => {
        const tookMs = await noticedAfterMs(sent, leave, true);
        assert.ok(tookMs < NOTICED_MS, `${Math.round(tookMs)} ms`);
      });
      check(`is told so while it has nothing to write, when the client ${deed}: ${request}`, async () => {
        const tookMs = await noticedAfterMs(sent, leave, false);
        assert.ok(tookMs < NOTICED_MS, `${Math.round(tookMs)} ms`);
      });
    }
});
