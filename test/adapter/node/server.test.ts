import { existsSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { Server } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import * as assert from 'uvu/assert';
import { serveNode } from '../../../src/adapter/node/server.ts';
import { describe } from '../../check.ts';
import { program, run } from '../../runtime/processes.ts';

const STOP_LIMIT_MS = 10_000;
/** What Node gives a connection that is kept alive and at rest. */
const KEPT_ALIVE_MS = 5000;

/** The servers of this process. Node has no documented way to them. */
const openServers = (): readonly Server[] => {
  const handles: unknown = '_getActiveHandles' in process && (process._getActiveHandles as () => unknown)();
  return Array.isArray(handles) ? handles.filter((handle) => handle instanceof Server) : [];
};

/** A server with one stream, which the test ends, and a client that keeps its connection. */
const streaming = async () => {
  const begun = Promise.withResolvers<ReadableStreamDefaultController<Uint8Array>>();
  const body = () => new ReadableStream<Uint8Array>({ start: (controller) => begun.resolve(controller) });
  const server = await serveNode(async () => new Response(body()), { host: '127.0.0.1', port: 0 });
  const agent = new Agent({ keepAlive: true });
  const collected = Promise.withResolvers<string>();
  const call = request(server.address, { agent }, (reply) => {
    let text = '';
    reply.setEncoding('utf8').on('data', (piece: string) => {
      text += piece;
    });
    reply.on('end', () => collected.resolve(text)).on('error', collected.reject);
  });
  call.on('error', collected.reject).end();
  const controller = await begun.promise;
  const send = (text: string) => controller.enqueue(new TextEncoder().encode(text));
  send('one');
  return { server, send, end: () => controller.close(), collected: collected.promise, leave: () => agent.destroy() };
};

describe('a server that cannot accept a connection', (check) => {
  check('goes on, whenever that is and however often', async () => {
    const before = new Set(openServers());
    const server = await serveNode(async () => new Response('still here'), { host: '127.0.0.1', port: 0 });
    const [own] = openServers().filter((one) => !before.has(one));
    for (let each = 0; each < 3; each += 1)
      own?.emit('error', Object.assign(new Error('accept ENFILE'), { code: 'ENFILE', syscall: 'accept' }));
    assert.is(await (await fetch(server.address)).text(), 'still here');
    await server.stop(STOP_LIMIT_MS);
  });
});

describe('a server that is asked to stop', (check) => {
  check('waits for a stream, and then for no one who could ask again', async () => {
    const { server, send, end, collected, leave } = await streaming();
    const stopped = server.stop(STOP_LIMIT_MS);
    // Longer than connections at rest are given: this one comes to rest after the look at them.
    await sleep(800);
    send(' two');
    end();
    const endedAt = performance.now();
    assert.is(await collected, 'one two');
    await stopped;
    const tookMs = performance.now() - endedAt;
    assert.ok(tookMs < KEPT_ALIVE_MS / 2, `${Math.round(tookMs)} ms`);
    leave();
  });

  check('cuts off what does not end in its time', async () => {
    const { server, collected, leave } = await streaming();
    const startedAt = performance.now();
    const cut = collected.then(String, () => 'cut off');
    await server.stop(300);
    assert.is(await cut, 'cut off');
    assert.ok(performance.now() - startedAt < 2000);
    leave();
  });
});

// Under Bun this file runs without what follows.
if (process.versions.bun === undefined) {
  describe('the same server on Bun', (check) => {
    check.needing(existsSync(program('bun')) ? undefined : 'bun', 'keeps the same promises', async () => {
      const { code, stdout, stderr } = await run(program('bun'), [import.meta.filename]);
      assert.is(code, 0, stdout + stderr);
      assert.match(stdout, '#checks {"total":3,"passed":3,"skipped":0}');
    });
  });
}
