import * as assert from 'uvu/assert';
import { describe, rejection } from '../../../../check.ts';
import { createFakeClock } from '../../../../fake-clock.ts';
import { never, type PeerNeeds } from '../peer.ts';
import { createMcpWorld, inMemory, local } from '../world.ts';
import { begun, failing } from './world.ts';

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
