import { connect } from 'node:net';
import * as assert from 'uvu/assert';
import { Response } from '../../../../src/adapter/node/direct/response.ts';
import type { Handler } from '../../../../src/core/http/handler.ts';
import { streamedResponse } from '../../../../src/core/http/streamed-response.ts';
import { describe } from '../../../check.ts';
import { exchange, post, WAYS, whileServing } from './world.ts';

describe('the direct way', (check) => {
  check('reads a body once, and knows no header that was not sent', async () => {
    const readTwice: Handler = async (request) => {
      await request.arrayBuffer();
      const again = await Promise.resolve()
        .then(() => request.text())
        .catch((error: unknown) => (error instanceof TypeError ? 'refused' : String(error)));
      return new Response(`${request.bodyUsed} ${again} ${request.headers.get('constructor')}`);
    };
    const answer = await whileServing(readTwice, (address) => exchange(address, [post('/direct', '', 'x')]));
    assert.match(answer, 'true refused null');
  });

  check('closes the connection of a handler that rejects, and goes on', async () => {
    const rejecting: Handler = async (request) => {
      if (request.headers.get('do') === 'reject') throw new Error('a bug');
      return new Response('well');
    };
    await whileServing(rejecting, async (address) => {
      assert.is(await exchange(address, [post('/direct', 'reject', '')]), '');
      assert.match(await exchange(address, [post('/direct', 'well', '')]), 'well');
    });
  });

  check('notices that the client of a streamed response leaves, also while it waits for that one to read', async () => {
    const seen = Promise.withResolvers<number>();
    const endless: Handler = async () =>
      streamedResponse(async ({ write }, left) => {
        let count = 0;
        while (!left.aborted) {
          const taken = write('x'.repeat(65_536));
          count += 1;
          await (taken ?? new Promise((resolve) => setImmediate(resolve)));
        }
        await write('nobody reads this');
        seen.resolve(count);
      }, {});
    await whileServing(endless, async (address) => {
      const socket = connect(Number(new URL(address).port), '127.0.0.1');
      socket.pause();
      socket.write(post('/direct', '', ''));
      await new Promise((resolve) => setTimeout(resolve, 300));
      socket.destroy();
      // The buffers of a connection hold some megabytes; the rest was not written.
      assert.ok((await seen.promise) < 400, 'it waits for its reader');
    });
  });

  for (const path of WAYS) {
    check(`of ${path}: a client that leaves aborts the signal, and the body is not read to its end`, async () => {
      const seen = Promise.withResolvers<readonly [boolean, boolean]>();
      const reading: Handler = async (request) => {
        const aborted = new Promise<boolean>((resolve) =>
          request.signal.addEventListener('abort', () => resolve(request.signal.aborted), { once: true }),
        );
        const isRead = await request.arrayBuffer().then(
          () => true,
          () => false,
        );
        seen.resolve([await aborted, isRead]);
        return new Response('too late');
      };
      await whileServing(reading, async (address) => {
        const socket = connect(Number(new URL(address).port), '127.0.0.1');
        socket.write(`POST ${path} HTTP/1.1\r\nHost: a.test\r\nContent-Length: 100\r\n\r\nhalf`);
        await new Promise((resolve) => setTimeout(resolve, 50));
        socket.destroy();
        assert.equal(await seen.promise, [true, false]);
      });
    });

    check(`of ${path}: an answered request's signal does not abort`, async () => {
      const signals: AbortSignal[] = [];
      const answering: Handler = async (request) => {
        signals.push(request.signal);
        return new Response(await request.text());
      };
      assert.match(await whileServing(answering, (address) => exchange(address, [post(path, '', 'well')])), 'well');
      assert.equal(
        signals.map(({ aborted }) => aborted),
        [false],
      );
    });
  }
});
