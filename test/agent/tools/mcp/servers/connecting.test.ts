import * as assert from 'uvu/assert';
import { McpServerError } from '../../../../../src/agent/tools/mcp/errors.ts';
import { describe, rejection } from '../../../../check.ts';
import { createFakeClock } from '../../../../fake-clock.ts';
import { createPeer, tool } from '../peer.ts';
import { createMcpWorld, inMemory, local } from '../world.ts';
import { begun, NOBODY, oneServer } from './world.ts';

describe('tool servers', (check) => {
  check('are connected to when they are started, and their tools are there', async () => {
    const world = oneServer(() => ({ tools: () => [tool('echo', { description: 'Says it again' })] }));
    assert.equal(world.servers.statuses(), { demo: { status: 'disabled' } });
    assert.equal(world.servers.tools(), []);
    world.servers.start();
    assert.equal(world.servers.statuses(), { demo: { status: 'failed', error: 'Not connected yet' } });
    await world.settle();
    assert.equal(world.servers.statuses(), { demo: { status: 'connected' } });
    const [found] = world.servers.tools();
    assert.equal([found?.name, found?.description], ['demo_echo', 'Says it again']);
    assert.equal(await world.call('demo_echo', { a: 1 }), {
      output: '{"a":1}',
      title: '',
      metadata: {},
      isError: false,
    });
    assert.equal(world.events, [], 'a first list is no change');
    assert.equal(world.lines, [{ level: 'info', event: 'mcp-server-connected', setting: 'mcp.demo', count: 1 }]);
  });

  check('give the same tools until they have others, so that what a model is sent stays the same', async () => {
    const { servers } = await begun(() => ({}));
    assert.is(servers.tools(), servers.tools());
  });

  check('do not wait for each other', async () => {
    const clock = createFakeClock();
    const transports = inMemory({
      mute: () => createPeer({ isMute: true }).transport,
      fine: () => createPeer().transport,
    });
    const { servers, toolNames } = createMcpWorld({
      servers: {
        mute: local('mute', { timeoutMs: 5000 }),
        off: local('off', { isEnabled: false }),
        fine: local('fine'),
      },
      transports,
      clock,
    });
    servers.start();
    const settled = servers.settled(60_000, NOBODY);
    await clock.advance(0);
    assert.equal(toolNames(), ['fine_echo']);
    await clock.advance(5000);
    await settled;
    assert.equal(servers.statuses(), {
      mute: { status: 'failed', error: 'No answer within 5000 ms' },
      off: { status: 'disabled' },
      fine: { status: 'connected' },
    });
    await servers.stop();
    assert.is(clock.pending(), 0);
  });

  check('are waited for no longer than asked, or until the caller leaves', async () => {
    const world = await begun(() => ({ isMute: true }));
    let isSettled = false;
    const settled = world.servers.settled(1000, NOBODY)?.then(() => {
      isSettled = true;
    });
    await world.clock.advance(999);
    assert.is(isSettled, false);
    await world.clock.advance(1);
    await settled;
    const controller = new AbortController();
    const left = world.servers.settled(1000, controller.signal);
    controller.abort();
    assert.is(await rejection(left ?? Promise.resolve()), controller.signal.reason);
    await world.servers.stop();
  });

  check('are not waited for once each of them was tried', async () => {
    const world = await begun(() => ({}));
    assert.is(world.servers.settled(1000, NOBODY), undefined);
    await world.servers.stop();
    assert.is(world.clock.pending(), 0);
  });

  check('report what they say of themselves while they are connected', async () => {
    const world = await begun(() => ({ instructions: 'Call describe first.' }));
    assert.equal(world.servers.instructions(), [{ server: 'demo', text: 'Call describe first.' }]);
    await world.servers.disconnect('demo');
    assert.equal(world.servers.instructions(), []);
  });

  check('that cannot be opened fail in words of ours', async () => {
    const clock = createFakeClock();
    const world = createMcpWorld({ servers: { gone: local('gone') }, transports: inMemory({}), clock });
    world.servers.start();
    await clock.advance(0);
    assert.equal(world.servers.statuses(), {
      gone: { status: 'failed', error: 'The connection could not be made' },
    });
    assert.not.match(JSON.stringify(world.lines), 'CANARY');
  });

  check('that ask for credentials say so, and are tried again once a minute', async () => {
    const world = await begun(() => new McpServerError('needs-auth', 'The server asks for credentials (HTTP 401)'));
    assert.equal(world.servers.statuses(), { demo: { status: 'needs_auth' } });
    await world.clock.advance(130_000);
    assert.equal(world.attempts, [0, 60_000, 120_000]);
  });
});
