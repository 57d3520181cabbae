import * as assert from 'uvu/assert';
import { describe, rejection } from '../../../../check.ts';
import { createFakeClock } from '../../../../fake-clock.ts';
import { createPeer, never } from '../peer.ts';
import { createMcpWorld, inMemory, local } from '../world.ts';
import { begun, failing, NOBODY } from './world.ts';

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
