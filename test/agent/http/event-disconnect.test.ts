import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import * as assert from 'uvu/assert';
import { serveNode } from '../../../src/adapter/node/server.ts';
import type { AgentGauges } from '../../../src/agent/metrics.ts';
import { describe } from '../../check.ts';
import { NO_AGENT_METRICS } from '../harness/metrics.ts';
import { createAgentWorld, prompt, replying } from '../harness/world.ts';

const LEAVING: Readonly<Record<string, (socket: Socket) => void>> = {
  'closes its connection': (socket) => void socket.destroy(),
  'resets its connection': (socket) => void socket.resetAndDestroy(),
  'ends its side of the connection': (socket) => void socket.end(),
};

const NOTICED_MS = 1000;
/** More in all than the buffers of both sides of a connection take. */
const ANSWERS = 12;
const ANSWER = 'x'.repeat(1_000_000);

const until = async (condition: () => boolean): Promise<number> => {
  const startedAt = performance.now();
  while (!condition() && performance.now() - startedAt < 5000) await sleep(10);
  return performance.now() - startedAt;
};

describe('a client of the event stream that reads nothing', (check) => {
  for (const path of ['/event?directory=/srv/desk', '/global/event'])
    for (const [deed, leave] of Object.entries(LEAVING))
      check(`is no longer a subscriber of ${path} within a second after it ${deed}`, async () => {
        let gauges: (() => AgentGauges) | undefined;
        const watch = (read: () => AgentGauges): void => {
          gauges = read;
        };
        const metrics = { ...NO_AGENT_METRICS, watch };
        const world = await createAgentWorld({ scripts: [replying(ANSWER)], changes: { metrics } });
        const subscribers = () => gauges?.().streamsOpen;
        const server = await serveNode(world.server.handler, { host: '127.0.0.1', port: 0 });
        const socket = connect(Number(new URL(server.address).port), '127.0.0.1').pause();
        socket.on('error', () => {});
        try {
          await once(socket, 'connect');
          socket.write(`GET ${path} HTTP/1.1\r\nHost: a.test\r\n\r\n`);
          await until(() => subscribers() === 1);
          for (let count = 0; count < ANSWERS; count += 1) {
            await world.call('POST', `/session/${await world.session()}/prompt_async`, prompt('go on'));
            await until(() => gauges?.().runsRunning === 0 && gauges().runsWaiting === 0);
          }
          assert.is(subscribers(), 1);
          leave(socket);
          const tookMs = await until(() => subscribers() === 0);
          assert.ok(tookMs < NOTICED_MS, `${Math.round(tookMs)} ms, ${subscribers()} subscribers`);
        } finally {
          socket.destroy();
          await server.stop(0);
          await world.server.stop();
        }
      });
});
