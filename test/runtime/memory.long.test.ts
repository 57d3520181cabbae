import { connect } from 'node:net';
import * as assert from 'uvu/assert';
import { describe } from '../check.ts';
import { worstBodies } from '../gateway/harness/worst-texts.ts';
import { basic, PASSWORD, USER } from './agent/process.ts';
import { until, withAgentWorld } from './agent/world.ts';
import { BRIDGE_KEY, inBridgeWorld } from './bridge/world.ts';
import { KEY } from './client.ts';
import { withGateway } from './gateway/world.ts';
import { chatOf, heapOption, megabytes, peakMegabytes, postAtOnce, startProbe } from './memory.ts';

/** As the chart gives them, in megabytes. */
const LIMITS = { gateway: 256, bridge: 512, agent: 1024 } as const;
const AT_ONCE = 60;

/** Every request was answered or refused with a status that says so. */
const countsOf = (results: readonly (number | string)[]): Readonly<Record<string, number>> => {
  const counts: Record<string, number> = {};
  for (const result of results) counts[result] = (counts[result] ?? 0) + 1;
  return counts;
};
const assertAnswered = (results: readonly (number | string)[], statuses = ['200', '503']): void => {
  const counts = countsOf(results);
  assert.ok(
    Object.keys(counts).every((status) => statuses.includes(status)),
    JSON.stringify(counts),
  );
  assert.ok((counts['200'] ?? 0) > 0);
};
const report = (what: string, results: readonly (number | string)[], megabytesUsed: number, longestMs: number): void =>
  console.log(
    `figure: ${what}: ${JSON.stringify(countsOf(results))}, peak ${Math.round(megabytesUsed)} MB, /health at most ${longestMs} ms`,
  );

describe('the largest bodies one after another, in the memory that the chart gives the bridge', (check) => {
  const chat = Buffer.from(chatOf(megabytes(7.9)));
  const withSmallBridge = (body: Parameters<typeof inBridgeWorld>[1]) =>
    inBridgeWorld(
      { bridge: { NODE_OPTIONS: heapOption(LIMITS.bridge) }, agent: { NODE_OPTIONS: heapOption(2 * LIMITS.agent) } },
      body,
    );

  check(
    'may be left by their clients while their turns go on',
    withSmallBridge(async ({ bridge, model }) => {
      model.alwaysReply({ kind: 'silence' }, () => true);
      for (let count = 0; count < 16; count++) {
        const headers = { 'x-session-id': `left-${count}` };
        const init = { method: 'POST', body: chat, headers, signal: AbortSignal.timeout(700) };
        await bridge.send('/v1/chat/completions', init).then(
          (response) => assert.is(response.status, 503),
          () => {},
        );
      }
      assert.is((await bridge.send('/health', {})).status, 200);
      // A turn that goes on without its client keeps nothing here.
      await until('nothing is in flight', async () =>
        /^gatehouse_bytes_in_flight 0$/m.test(await (await bridge.send('/metrics', {})).text()),
      );
      assert.ok(peakMegabytes(bridge.running.child.pid) < LIMITS.bridge);
    }),
  );

  check(
    'are not kept with their answers',
    withSmallBridge(async ({ bridge }) => {
      for (let count = 0; count < 50; count++) {
        const headers = { 'idempotency-key': `answered-${count}` };
        const response = await bridge.send('/v1/chat/completions', { method: 'POST', body: chat, headers });
        assert.is(response.status, 200, await response.text());
      }
      assert.ok(peakMegabytes(bridge.running.child.pid) < LIMITS.bridge);
    }),
  );
});

describe('sixty of the largest bodies at once, in the memory that the chart gives', (check) => {
  check('are answered or refused by bridge and agent server, and others get their answers', () =>
    inBridgeWorld(
      {
        bridge: { NODE_OPTIONS: heapOption(LIMITS.bridge) },
        agent: { NODE_OPTIONS: heapOption(LIMITS.agent) },
      },
      async ({ bridge, agent }) => {
        const probe = startProbe(bridge.address);
        const results = await postAtOnce(AT_ONCE, {
          address: bridge.address,
          path: '/v1/chat/completions',
          headers: { authorization: `Bearer ${BRIDGE_KEY}` },
          body: chatOf(megabytes(8)),
        });
        const { statuses, longestMs } = await probe.stop();
        const used = peakMegabytes(bridge.running.child.pid);
        report('bridge', results, used, longestMs);
        assertAnswered(results);
        assert.equal(statuses, [200]);
        assert.ok(used < LIMITS.bridge, `the bridge used ${used} MB`);
        assert.ok(peakMegabytes(agent.pid) < LIMITS.agent);
        const after = await bridge.send('/v1/chat/completions', {
          method: 'POST',
          body: JSON.stringify({ messages: [{ role: 'user', content: 'hello' }] }),
        });
        assert.is(after.status, 200);
      },
    )(),
  );

  check('are answered or refused by the agent server alone', () =>
    withAgentWorld(async ({ start }) => {
      const agent = await start({ variables: { NODE_OPTIONS: heapOption(LIMITS.agent) } });
      const { json } = await agent.ask<{ readonly id: string }>('POST', '/session', {});
      const url = `data:image/png;base64,${'A'.repeat(megabytes(8))}`;
      const probe = startProbe(agent.address);
      const results = await postAtOnce(AT_ONCE, {
        address: agent.address,
        path: `/session/${json.id}/message`,
        headers: { authorization: basic(USER, PASSWORD) },
        body: JSON.stringify({ parts: [{ type: 'file', mime: 'image/png', url }] }),
      });
      const { statuses, longestMs } = await probe.stop();
      const used = peakMegabytes(agent.pid);
      report('agent server', results, used, longestMs);
      // All are for one session, which is full after some of them.
      assertAnswered(results, ['200', '413', '503']);
      assert.equal(statuses, [200]);
      assert.ok(used < LIMITS.agent, `the agent server used ${used} MB`);
    }),
  );

  const PLAIN = Array.from({ length: 10 }, (_, index) => `${index} ${'good morning to all '.repeat(4999)}`);
  const [first = '', , , fourth = ''] = worstBodies(megabytes(1), 100_000, 32);
  for (const [kind, body] of [
    ['plain texts', JSON.stringify({ input: PLAIN })],
    ['the costliest texts', first],
    ['the costliest texts, of another kind', fourth],
  ] as const)
    check(`are answered or refused by the gateway: ${kind}`, () =>
      withGateway(
        { script: () => undefined, variables: { NODE_OPTIONS: heapOption(LIMITS.gateway) } },
        async ({ gateway }) => {
          const probe = startProbe(gateway.address);
          const results = await postAtOnce(AT_ONCE, {
            address: gateway.address,
            path: '/v1/moderations',
            headers: { authorization: `Bearer ${KEY}` },
            body,
          });
          const { statuses, longestMs } = await probe.stop();
          const used = peakMegabytes(gateway.child.pid);
          report(`gateway, ${kind}`, results, used, longestMs);
          assert.ok(
            results.every((result) => [200, 503, 504].includes(Number(result))),
            JSON.stringify(countsOf(results)),
          );
          assert.equal(statuses, [200]);
          assert.ok(used < LIMITS.gateway, `the gateway used ${used} MB`);
        },
      ),
    );
});

describe('bodies that are answered before they have arrived', (check) => {
  check('are not held until the rest of them comes', () =>
    withGateway({ script: () => undefined, variables: { NODE_OPTIONS: heapOption(LIMITS.gateway) } }, async (world) => {
      const { gateway } = world;
      const bytes = megabytes(1);
      const head = [
        'POST /v1/moderations HTTP/1.1',
        'Host: gateway.test',
        `Authorization: Bearer ${KEY}`,
        'Content-Type: application/json',
        'x-request-timeout-ms: 40',
        `Content-Length: ${bytes}`,
      ];
      const statuses: string[] = [];
      const sockets = Array.from({ length: 400 }, () => {
        const socket = connect(Number(new URL(gateway.address).port), '127.0.0.1');
        socket.on('error', () => {});
        socket.once('data', (data) => statuses.push(data.toString().slice(9, 12)));
        socket.write(`${head.join('\r\n')}\r\n\r\n`);
        socket.write(Buffer.alloc(bytes - 10, ' '));
        return socket;
      });
      await until('all are answered', () => statuses.length === sockets.length);
      const used = peakMegabytes(gateway.child.pid);
      console.log(`figure: ${sockets.length} unfinished bodies of 1 MiB: peak ${Math.round(used)} MB`);
      for (const socket of sockets) socket.destroy();
      assert.ok(
        statuses.every((status) => status === '408' || status === '503'),
        statuses.join(' '),
      );
      assert.ok(used < LIMITS.gateway, `the gateway used ${used} MB`);
    }),
  );
});
