import * as assert from 'uvu/assert';
import type { McpServerConfig } from '../../../src/agent/config/types.ts';
import { McpServerError } from '../../../src/agent/mcp/errors.ts';
import { describe, rejection } from '../../check.ts';
import { createFakeClock } from '../../fake-clock.ts';
import { createPeer, never, type Peer, type PeerNeeds, tool } from './peer.ts';
import { createMcpWorld, inMemory, local } from './world.ts';

const NOBODY = new AbortController().signal;

/** One server named `demo`, a new peer for every attempt; `needs` may change from one attempt to the next. */
const oneServer = (needs: () => PeerNeeds | McpServerError, more: Partial<McpServerConfig> = {}) => {
  const clock = createFakeClock();
  const peers: Peer[] = [];
  const attempts: number[] = [];
  const startedAt = clock.now();
  const transports = inMemory({
    demo() {
      attempts.push(clock.now() - startedAt);
      const found = needs();
      if (found instanceof McpServerError) throw found;
      const peer = createPeer(found);
      peers.push(peer);
      return peer.transport;
    },
  });
  const config = { ...local('demo'), ...more } as McpServerConfig;
  const world = createMcpWorld({ servers: { demo: config }, transports, clock });
  return {
    ...world,
    clock,
    attempts,
    peer(): Peer {
      const peer = peers.at(-1);
      if (peer === undefined) throw new Error('no peer was made');
      return peer;
    },
    settle: () => clock.advance(0),
  };
};
const begun = async (...given: Parameters<typeof oneServer>) => {
  const world = oneServer(...given);
  world.servers.start();
  await world.settle();
  return world;
};
const failing = () => new McpServerError('unreachable', 'The program could not be started');

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

describe('a tool server that fails', (check) => {
  check('is tried again after 1 s, doubling to a minute, for ever', async () => {
    const world = await begun(failing);
    await world.clock.advance(300_000);
    assert.equal(
      world.attempts,
      [0, 1, 3, 7, 15, 31, 63, 123, 183, 243].map((s) => s * 1000),
    );
    assert.equal(world.lines[1], {
      level: 'warn',
      event: 'mcp-server-lost',
      setting: 'mcp.demo',
      reason: 'The program could not be started',
      restMs: 2000,
    });
  });

  check('is tried at moments of its own: chance shortens the wait', async () => {
    const clock = createFakeClock();
    const world = createMcpWorld({
      servers: { gone: local('gone') },
      transports: inMemory({}),
      clock,
      chance: () => 1,
    });
    world.servers.start();
    await clock.advance(750);
    assert.equal(
      world.lines.map(({ restMs }) => restMs),
      [750, 1500],
    );
  });

  check('is connected to again, with its tools', async () => {
    let isUp = false;
    const world = await begun(() => (isUp ? {} : failing()));
    assert.equal(world.toolNames(), []);
    isUp = true;
    const lastError = { message: 'The program could not be started', at: world.clock.now() };
    await world.clock.advance(1000);
    assert.equal(world.servers.statuses(), { demo: { status: 'connected', lastError } });
    assert.equal(world.toolNames(), ['demo_echo']);
  });

  check('that ends over and over is not started over and over', async () => {
    const world = await begun(() => ({}));
    for (let ends = 0; ends < 4; ends++) {
      await world.peer().server.close();
      await world.clock.advance(16_000);
    }
    assert.equal(world.attempts, [0, 1000, 18_000, 36_000, 56_000]);
  });

  check('begins anew after a good minute', async () => {
    let isUp = true;
    const world = await begun(() => (isUp ? {} : failing()));
    isUp = false;
    await world.peer().server.close();
    await world.clock.advance(7000);
    isUp = true;
    await world.clock.advance(8000);
    assert.equal(world.attempts, [0, 1000, 3000, 7000, 15_000]);
    await world.clock.advance(60_000);
    await world.peer().server.close();
    await world.clock.advance(1000);
    assert.equal(world.attempts.slice(5), [76_000]);
  });

  check('is not waited for by a call, which is not made', async () => {
    const world = await begun(() => ({}));
    await world.peer().server.close();
    await world.settle();
    assert.equal(world.servers.statuses(), { demo: { status: 'failed', error: 'The connection was closed' } });
    assert.equal(world.toolNames(), ['demo_echo'], 'a model is not told other tools each time a server is away');
    const { output, isError } = await world.call('demo_echo');
    assert.is(isError, true);
    assert.match(output, 'not connected at the moment, so this call was not made');
    await world.clock.advance(1000);
    assert.is((await world.call('demo_echo')).isError, false);
  });

  check('takes calls that are under way with it, and no one knows what became of them', async () => {
    const world = await begun(() => ({ call: () => never() }));
    const called = world.call('demo_echo');
    await world.settle();
    await world.peer().server.close();
    assert.equal(await called, {
      output: 'The tool server ended while the call was under way; whether it was carried out is not known.',
      title: '',
      metadata: {},
      isError: true,
    });
  });
});

describe('a call to a tool server', (check) => {
  check('that takes too long fails, says so, and leaves the server be', async () => {
    let asked: AbortSignal | undefined;
    const call: PeerNeeds['call'] = ({ signal }) => {
      asked = signal;
      return never();
    };
    const world = await begun(() => ({ call }), { timeoutMs: 2000 });
    const called = world.call('demo_echo');
    await world.clock.advance(2000);
    const { output, isError } = await called;
    assert.is(
      output,
      'The tool server gave no answer in time, and the call was cancelled; whether it was carried out is not known.',
    );
    assert.equal([isError, asked?.aborted], [true, true]);
    assert.equal(world.servers.statuses(), { demo: { status: 'connected' } });
  });

  check('ends with its caller’s reason when he leaves', async () => {
    const world = await begun(() => ({ call: () => never() }));
    const controller = new AbortController();
    const called = world.call('demo_echo', {}, controller.signal);
    await world.settle();
    controller.abort();
    assert.is(await rejection(called), controller.signal.reason);
    assert.is(await rejection(world.call('demo_echo', {}, controller.signal)), controller.signal.reason);
  });

  check('that a server refuses or fails is reported in words of ours', async () => {
    const failure = (code: number) => {
      throw Object.assign(new Error('CANARY'), { code });
    };
    const world = await begun(() => ({ call: ({ input }) => failure(Number(input.code)) }));
    assert.match(
      (await world.call('demo_echo', { code: -32602 })).output,
      /^The tool server refused the call \(error -32602\)/,
    );
    const { output } = await world.call('demo_echo', { code: -32603 });
    assert.is(
      output,
      'The tool server failed the call (Answered with error -32603); whether it was carried out is not known.',
    );
  });

  check('that is answered with what cannot be read is reported as that', async () => {
    const world = await begun(() => ({}));
    const { server } = world.peer();
    server.removeRequestHandler('tools/call');
    server.fallbackRequestHandler = async () => ({ content: 'no list' });
    const { output, isError } = await world.call('demo_echo');
    assert.equal([isError, output.includes('cannot be read')], [true, true]);
  });
});

describe('the tools of a server', (check) => {
  check('are listed again when it says that they changed, and that is reported', async () => {
    let names = ['echo'];
    const world = await begun(() => ({ tools: () => names.map((name) => tool(name)) }));
    names = ['echo', 'more'];
    await world.peer().server.sendToolListChanged();
    await world.settle();
    assert.equal(world.toolNames(), ['demo_echo', 'demo_more']);
    assert.equal(world.events, [{ type: 'mcp.tools.changed', properties: { server: 'demo' } }]);
  });

  check('are not reported as changed when they are the same', async () => {
    const world = await begun(() => ({}));
    const before = world.servers.tools();
    await world.peer().server.sendToolListChanged();
    await world.clock.advance(5000);
    assert.equal(world.events, []);
    assert.is(world.servers.tools(), before);
  });

  check('are asked for once a second at most, however often a server says so, and the last word counts', async () => {
    let lists = 0;
    const world = await begun(() => ({
      tools: () => {
        lists += 1;
        return [tool(`t${lists}`)];
      },
    }));
    for (let count = 0; count < 100; count++) await world.peer().server.sendToolListChanged();
    await world.settle();
    for (let count = 0; count < 100; count++) await world.peer().server.sendToolListChanged();
    assert.is(lists, 2);
    await world.clock.advance(10_000);
    assert.is(lists, 3);
    assert.equal(world.toolNames(), ['demo_t3']);
    assert.is(world.events.length, 2);
    assert.is(world.clock.pending(), 0);
  });

  check('that change while they are listed for the first time are listed again', async () => {
    let names = ['old'];
    const peers: Peer[] = [];
    const clock = createFakeClock();
    const transports = inMemory({
      demo() {
        const peer = createPeer({
          async page() {
            const now = names;
            names = ['new'];
            if (now[0] === 'old') await peer.server.sendToolListChanged();
            return { tools: now.map((name) => tool(name)) };
          },
        });
        peers.push(peer);
        return peer.transport;
      },
    });
    const world = createMcpWorld({ servers: { demo: local('demo') }, transports, clock });
    world.servers.start();
    await clock.advance(0);
    assert.equal(world.toolNames(), ['demo_new']);
  });

  check('stay what they were when listing them again fails', async () => {
    let isFailing = false;
    let name = 'echo';
    const world = await begun(() => ({
      page: () => {
        if (isFailing) throw new Error('CANARY');
        return { tools: [tool(name)] };
      },
    }));
    isFailing = true;
    await world.peer().server.sendToolListChanged();
    await world.clock.advance(2000);
    assert.equal(world.toolNames(), ['demo_echo']);
    assert.equal(world.lines.at(-1), {
      level: 'warn',
      event: 'mcp-list-failed',
      setting: 'mcp.demo',
      reason: 'Answered with error -32603',
    });
    isFailing = false;
    name = 'other';
    await world.peer().server.sendToolListChanged();
    await world.clock.advance(2000);
    assert.equal(world.toolNames(), ['demo_other']);
  });

  check('are asked for no more once the connection is over', async () => {
    const world = await begun(() => ({}));
    await world.peer().server.sendToolListChanged();
    await world.settle();
    await world.peer().server.close();
    await world.settle();
    assert.is(world.clock.pending(), 1, 'only the next attempt is waited for');
    await world.servers.stop();
    assert.is(world.clock.pending(), 0);
  });

  check('are reported as changed when they are others after a reconnection', async () => {
    let name = 'echo';
    const world = await begun(() => ({ tools: () => [tool(name)] }));
    name = 'other';
    await world.peer().server.close();
    await world.clock.advance(1000);
    assert.equal(world.toolNames(), ['demo_other']);
    assert.is(world.events.length, 1);
  });

  check('that cannot be offered are logged once, by names that may be shown, and not all of a thousand', async () => {
    const odd = Array.from({ length: 50 }, (_, index) => ({ name: `${'n'.repeat(70)}\n${index}`, inputSchema: {} }));
    const world = await begun(() => ({ tools: () => [tool('echo'), ...odd] }));
    await world.peer().server.sendToolListChanged();
    await world.peer().server.close();
    await world.clock.advance(1000);
    const skipped = world.lines.filter(({ event }) => event.includes('skipped'));
    assert.is(skipped.length, 11);
    assert.equal(skipped[0], {
      level: 'warn',
      event: 'mcp-tool-skipped',
      setting: 'mcp.demo',
      tool: 'n'.repeat(64),
      reason: 'a name of more than 64 characters',
    });
    assert.equal(skipped[10], { level: 'warn', event: 'mcp-tools-skipped', count: 50 });
  });
});

describe('switching a tool server', (check) => {
  check('that no one knows is reported as that', async () => {
    const { servers } = await begun(() => ({}));
    for (const name of ['other', '__proto__', 'toString', ''])
      assert.equal([await servers.connect(name), await servers.disconnect(name)], ['not-found', 'not-found']);
  });

  check('off ends its connection, its tools and its attempts, and fails calls with a reason', async () => {
    const world = await begun(() => ({ call: () => never() }));
    const [stale] = world.servers.tools();
    const called = world.call('demo_echo');
    await world.settle();
    assert.equal(await world.servers.disconnect('demo'), { status: 'disabled' });
    assert.match((await called).output, 'whether it was carried out is not known');
    assert.equal([world.servers.statuses(), world.toolNames()], [{ demo: { status: 'disabled' } }, []]);
    assert.is(world.peer().isClosed(), true);
    await world.clock.advance(600_000);
    assert.equal([world.attempts, world.clock.pending()], [[0], 0]);
    const context = { sessionID: 's', messageID: 'm', callID: 'c', agent: 'a', signal: NOBODY };
    assert.is((await stale?.run({}, context))?.output, 'The tool server is switched off, so this call was not made.');
    assert.equal(await world.servers.disconnect('demo'), { status: 'disabled' });
  });

  check('on connects one that the configuration disables', async () => {
    const world = await begun(() => ({}), { isEnabled: false });
    assert.equal([world.attempts, world.servers.statuses()], [[], { demo: { status: 'disabled' } }]);
    assert.equal(await world.servers.connect('demo'), { status: 'connected' });
    assert.equal(world.toolNames(), ['demo_echo']);
  });

  check('on tries at once one that is left alone for a while, and reports how it went', async () => {
    let isUp = false;
    const world = await begun(() => (isUp ? {} : failing()));
    const failed = { status: 'failed', error: 'The program could not be started' };
    assert.equal(await world.servers.connect('demo'), failed);
    assert.equal(await world.servers.connect('demo'), failed);
    isUp = true;
    const connected = { status: 'connected', lastError: { message: failed.error, at: world.clock.now() } };
    assert.equal(await world.servers.connect('demo'), connected);
    assert.equal(world.attempts, [0, 0, 0, 0]);
    assert.equal(await world.servers.connect('demo'), connected);
    assert.is(world.attempts.length, 4, 'one that is connected is left as it is');
  });

  check('on joins an attempt that is under way', async () => {
    const world = await begun(() => ({ isMute: true }));
    const connecting = world.servers.connect('demo');
    const controller = new AbortController();
    const left = world.servers.connect('demo', controller.signal);
    controller.abort();
    assert.is(await rejection(left), controller.signal.reason);
    await world.clock.advance(30_000);
    assert.equal(await connecting, { status: 'failed', error: 'No answer within 30000 ms' });
    assert.equal(world.attempts, [0]);
  });

  check('off and on again leaves one connection', async () => {
    const world = await begun(() => ({}));
    const first = world.peer();
    const off = world.servers.disconnect('demo');
    const on = world.servers.connect('demo');
    await off;
    assert.equal(await on, { status: 'connected' });
    assert.equal([first.isClosed(), world.peer().isClosed(), world.attempts.length], [true, false, 2]);
  });
});

describe('a tool server that is slow to go', (check) => {
  check('is never there twice', async () => {
    const clock = createFakeClock();
    const closing = Promise.withResolvers<void>();
    let opened = 0;
    const transports = inMemory({
      demo() {
        opened += 1;
        const { transport } = createPeer();
        const close = transport.close.bind(transport);
        transport.close = async () => {
          await close();
          await closing.promise;
        };
        return transport;
      },
    });
    const { servers } = createMcpWorld({ servers: { demo: local('demo') }, transports, clock });
    servers.start();
    await clock.advance(0);
    const off = servers.disconnect('demo');
    const on = servers.connect('demo');
    await clock.advance(0);
    assert.equal([opened, servers.statuses()], [1, { demo: { status: 'failed', error: 'Not connected yet' } }]);
    closing.resolve();
    await off;
    assert.equal([await on, opened], [{ status: 'connected' }, 2]);
    await servers.stop();
  });
});

describe('stopping the tool servers', (check) => {
  check('closes all of them, and nothing is started after that', async () => {
    const world = await begun(() => ({}));
    await world.servers.stop();
    assert.is(world.peer().isClosed(), true);
    assert.equal(await world.servers.connect('demo'), { status: 'disabled' });
    world.servers.start();
    await world.clock.advance(600_000);
    assert.equal([world.attempts, world.clock.pending()], [[0], 0]);
    await world.servers.stop();
  });

  check('waits three seconds at most for a connection that does not close', async () => {
    const clock = createFakeClock();
    const transports = inMemory({
      demo: () => {
        const { transport } = createPeer();
        transport.close = () => never();
        return transport;
      },
    });
    const { servers } = createMcpWorld({ servers: { demo: local('demo') }, transports, clock });
    servers.start();
    await clock.advance(0);
    let isStopped = false;
    const stopped = servers.stop().then(() => {
      isStopped = true;
    });
    await clock.advance(2999);
    assert.is(isStopped, false);
    await clock.advance(1);
    await stopped;
  });

  check('is not held up by an attempt that is under way', async () => {
    const world = await begun(() => ({ isMute: true }));
    await world.servers.stop();
    assert.is(world.peer().isClosed(), true);
    assert.is(world.clock.pending(), 0);
  });
});
