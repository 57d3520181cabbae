import { connect, createServer, type Socket } from 'node:net';
import * as assert from 'uvu/assert';
import { systemClock } from '../../../../../src/adapter/node/clock.ts';
import type { Clock } from '../../../../../src/core/clock.ts';
import { describe } from '../../../../check.ts';
import { missing, until } from '../servers.ts';
import { inWorld } from './world.ts';

/** A proxy before a Redis whose answers arrive `delayMs` late. */
const startProxy = async (redisUrl: string) => {
  const proxy = { delayMs: 0, url: '', close() {} };
  const sockets: Socket[] = [];
  const server = createServer((client) => {
    const redis = connect(Number(new URL(redisUrl).port), '127.0.0.1');
    sockets.push(client, redis);
    client.on('data', (chunk) => redis.write(chunk));
    redis.on('data', (chunk) => setTimeout(() => client.write(chunk), proxy.delayMs));
    for (const [one, other] of [
      [client, redis],
      [redis, client],
    ] as const) {
      one.on('error', () => {});
      one.on('close', () => other.destroy());
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  proxy.url = `redis://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`;
  proxy.close = () => {
    server.close();
    for (const socket of sockets) socket.destroy();
  };
  return proxy;
};

describe('a Redis that is far away', (check) => {
  check.needing(
    missing,
    'by 60 ms is not lost under steady load',
    inWorld(async ({ url, replica, lines }) => {
      const proxy = await startProxy(url);
      // All times are four times as long, so that a busy machine does not matter.
      const slow: Clock = { now: systemClock.now, after: (delayMs, task) => systemClock.after(4 * delayMs, task) };
      const state = replica(proxy.url, slow);
      await until(state.isUp, 'the connection');
      proxy.delayMs = 4 * 60;
      const limit = state.rateLimit(1000, () => 77);
      const answers: Promise<number>[] = [];
      for (let turn = 0; turn < 12; turn++) {
        answers.push(Promise.resolve(limit('key')));
        await new Promise((resolve) => setTimeout(resolve, 4 * 9));
      }
      assert.equal(await Promise.all(answers), Array(12).fill(0));
      assert.equal(lines, []);
      proxy.delayMs = 0;
      await state.close();
      proxy.close();
    }),
  );
});

describe('commands of one turn of the event loop', (check) => {
  check.needing(
    missing,
    'are one write',
    inWorld(async ({ connected, redis }) => {
      const verdicts = (await connected()).verdicts(60_000);
      const reads = async () => Number(/total_reads_processed:(\d+)/.exec(await redis.info('stats'))?.[1]);
      const before = await reads();
      await Promise.all(Array.from({ length: 64 }, (_, index) => verdicts.find(`digest-${index}`, 13)));
      // One of them is the second question for this number.
      assert.is((await reads()) - before, 2);
    }),
  );
});
