import * as assert from 'uvu/assert';
import { describe } from '../../../../check.ts';
import { createFakeClock } from '../../../../fake-clock.ts';
import { createPeer, type Peer, tool } from '../peer.ts';
import { createMcpWorld, inMemory, local } from '../world.ts';
import { begun } from './world.ts';

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
