import * as assert from 'uvu/assert';
import { createModelCatalog } from '../../src/bridge/agent/models.ts';
import type { AgentServers } from '../../src/bridge/agent/servers.ts';
import { createReadiness } from '../../src/bridge/http/readiness.ts';
import { describe, rejection } from '../check.ts';
import { createFakeClock } from '../fake-clock.ts';
import { createFakeClient, UNREACHED } from './harness/fake-client.ts';

const bridgeOf = (defaultModel?: string, servers?: AgentServers) => {
  const clock = createFakeClock();
  const fake = createFakeClient();
  const state: { lossReason: string | undefined; isStopping: boolean } = { lossReason: undefined, isStopping: false };
  const lines: string[] = [];
  const ready = createReadiness({
    health: { check: async () => state.lossReason, isConnected: () => state.lossReason === undefined },
    catalog: createModelCatalog(fake.agent, clock, defaultModel),
    servers,
    clock,
    log: (level, event, fields) => void lines.push(`${level} ${event} ${fields?.reason}`.trim()),
    isStopping: () => state.isStopping,
  });
  const reported = async (): Promise<string> => {
    const response = await ready();
    const { status, reasons = [] } = (await response.json()) as { status: string; reasons?: string[] };
    return `${response.status} ${status}${reasons.map((reason) => `: ${reason}`).join('')}`;
  };
  return { clock, fake, state, lines, ready, reported };
};

describe('whether the bridge is ready', (check) => {
  check('depends on the agent and a model for who names none', async () => {
    const { clock, fake, state, lines, ready, reported } = bridgeOf();
    assert.is(await reported(), '200 ready');
    state.lossReason = 'agent_unreachable';
    assert.is(await reported(), '503 not ready: the agent server cannot be used (agent_unreachable)');
    assert.is((await ready()).headers.get('retry-after'), '1');
    state.lossReason = undefined;
    await clock.advance(30_000);
    fake.failNext('models', UNREACHED);
    assert.is(await reported(), '503 not ready: the agent server does not answer, or not as one');
    await clock.advance(5000);
    assert.is(await reported(), '200 ready');
    state.isStopping = true;
    assert.is(await reported(), '503 not ready: the service is stopping');
    assert.equal(
      lines.map((line) => line.split(' ').slice(0, 2).join(' ')),
      ['info ready', 'warn not-ready', 'warn not-ready', 'info ready', 'warn not-ready'],
    );
  });

  check('says what to look at where the agent refuses the bridge', async () => {
    const { state, reported } = bridgeOf();
    const unusable = '503 not ready: the agent server cannot be used';
    state.lossReason = 'agent_unauthorized';
    const why = 'agent_unauthorized: check AGENT_SERVER_USERNAME and AGENT_SERVER_PASSWORD';
    assert.is(await reported(), `${unusable} (${why})`);
    state.lossReason = 'not_found';
    assert.is(await reported(), `${unusable} (not_found: check AGENT_BASE_URL, without a path)`);
  });

  check('has no empty reason in its log', async () => {
    const { lines, reported } = bridgeOf();
    await reported();
    assert.equal(lines, ['info ready undefined']);
  });

  check('is not so without the model that it was asked to take', async () => {
    assert.match(await bridgeOf('acme/unknown').reported(), /^503 not ready: the agent server has no such model/);
  });

  check('is said of several servers while one of them is there, with how many are not', async () => {
    const count = { total: 3, healthy: 3 };
    let looks = 0;
    const look = async () => {
      looks += 1;
    };
    const { clock, lines, state, reported } = bridgeOf(undefined, { count: () => count, probe: look });
    assert.is(await reported(), '200 ready');
    count.healthy = 1;
    assert.is(await reported(), '200 ready: agent servers that are not ready: 2 of 3');
    assert.is(looks, 1);
    count.healthy = 0;
    assert.is(await reported(), '503 not ready: agent servers that are not ready: 3 of 3');
    state.lossReason = 'unavailable';
    assert.match(await reported(), /^503 not ready: the agent server cannot be used .*: agent servers .*: 3 of 3$/);
    state.lossReason = undefined;
    count.healthy = 3;
    await clock.advance(5000);
    assert.is(await reported(), '200 ready');
    assert.is(looks, 2);
    assert.equal(
      lines.map((line) => line.split(' ').slice(0, 2).join(' ')),
      ['info ready', 'info ready', 'warn not-ready', 'warn not-ready', 'info ready'],
    );
  });

  check('is found out at most every five seconds', async () => {
    const { clock, fake, reported } = bridgeOf();
    fake.failNext('models', UNREACHED, 1000);
    for (let probe = 0; probe < 100; probe++) assert.match(await reported(), /^503/);
    assert.is(fake.calls('models'), 1);
    await clock.advance(4999);
    await reported();
    assert.is(fake.calls('models'), 1);
    await clock.advance(1);
    await reported();
    assert.is(fake.calls('models'), 2);
  });

  check('is not known where there is a bug', async () => {
    const { ready, lines } = bridgeOf();
    const bug = new Error('a bug');
    const broken = createReadiness({
      health: { check: async () => undefined, isConnected: () => true },
      catalog: {
        ...createModelCatalog(createFakeClient().agent, createFakeClock(), undefined),
        find: async () => {
          throw bug;
        },
      },
      servers: undefined,
      clock: createFakeClock(),
      log: () => {},
      isStopping: () => false,
    });
    assert.is(await rejection(broken()), bug);
    await ready();
    assert.is(lines.length, 1);
  });
});
