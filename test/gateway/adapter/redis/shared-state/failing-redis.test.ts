import { createServer, type Socket } from 'node:net';
import * as assert from 'uvu/assert';
import { systemClock } from '../../../../../src/adapter/node/clock.ts';
import type { Clock } from '../../../../../src/core/clock.ts';
import { createRateLimit } from '../../../../../src/gateway/routes/rate-limit.ts';
import { describe } from '../../../../check.ts';
import { createFakeClock } from '../../../../fake-clock.ts';
import { freePort, missing, startRedis, until } from '../servers.ts';
import { END, inWorld, REST, receivedBy, SCORES, signed } from './world.ts';

describe('a Redis that fails', (check) => {
  check.needing(missing, 'is said once, gone on without, and its return is said once', async () => {
    const port = await freePort();
    const first = await startRedis(port);
    await inWorld(async ({ replica, connected, lines, events, redis, prefix }) => {
      const state = await connected();
      const verdicts = state.verdicts(60_000);
      const limit = state.rateLimit(3, createRateLimit(3, Date.now));
      verdicts.store('digest', SCORES);
      assert.equal([await limit('key'), await limit('key')], [0, 0]);
      await first.kill();
      await until(() => !state.isUp(), 'the loss');
      for (let turn = 0; turn < 50; turn++) {
        assert.is(await verdicts.find('digest', 13), undefined);
        verdicts.store('digest', SCORES);
      }
      // What passed before counts on.
      assert.is(await limit('key'), 0);
      assert.ok((await limit('key')) > 0);
      const learntAt = Date.now();
      state.coolDowns.publish(REST);
      state.coolDowns.publish({ ...REST, fingerprint: 'over', coolDownMs: 1 });
      state.coolDowns.publish({ ...REST, fingerprint: 'key-2' });
      state.coolDowns.publish({ ...END, fingerprint: 'key-2' });
      assert.equal(events(), ['shared-state-lost']);
      assert.match(JSON.parse(lines[0] ?? '').reason, /^(not-connected|E[A-Z]+)$/);

      await startRedis(port);
      await until(state.isUp, 'the return');
      const awayMs = Date.now() - learntAt;
      assert.equal(events(), ['shared-state-lost', 'shared-state-back']);
      verdicts.store('digest', SCORES);
      await until(async () => (await verdicts.find('digest', 13)) !== undefined, 'the verdict');
      assert.is(await limit('key'), 0);
      // What this replica learnt meanwhile is told as far as it still holds.
      const collected = receivedBy(replica());
      await until(() => collected.length > 0, 'the rest of before');
      assert.equal(
        collected.map(({ fingerprint }) => fingerprint),
        ['key-1'],
      );
      assert.ok((await redis.pttl(`${prefix}rest:key-1`)) <= 60_001 - awayMs);
      assert.is(events().length, 2);
    }, first.url)();
  });

  check.needing(missing, 'while it hangs blocks for one moment, and no one after that', async () => {
    const hung = await startRedis(await freePort());
    await inWorld(async ({ connected, lines, events }) => {
      const state = await connected();
      const verdicts = state.verdicts(60_000);
      const limit = state.rateLimit(5, () => 77);
      hung.signal('SIGSTOP');
      const startedAt = performance.now();
      assert.equal(await Promise.all([verdicts.find('digest', 13), limit('key')]), [undefined, 77]);
      const tookMs = performance.now() - startedAt;
      assert.ok(tookMs >= 90 && tookMs < 400, `${tookMs} ms`);
      const laterAt = performance.now();
      for (let turn = 0; turn < 100; turn++) {
        assert.equal(await Promise.all([verdicts.find('digest', 13), limit('key')]), [undefined, 77]);
      }
      assert.ok(performance.now() - laterAt < 90);
      await new Promise((resolve) => setTimeout(resolve, 1200));
      assert.equal(events(), ['shared-state-lost']);
      assert.is(JSON.parse(lines[0] ?? '').reason, 'timeout');
      hung.signal('SIGCONT');
      await until(state.isUp, 'the return');
      assert.equal(events(), ['shared-state-lost', 'shared-state-back']);
      assert.is(await limit('key'), 0);
    }, hung.url)();
  });

  check.needing(
    missing,
    'is not taken for one by a process that was busy itself',
    inWorld(async ({ connected, lines, redis, prefix }) => {
      const state = await connected();
      const name = `${prefix}verdict:digest`;
      await redis.set(name, signed(name, JSON.stringify(SCORES)), 'PX', 60_000);
      const found = state.verdicts(60_000).find('digest', 13);
      for (const endsAt = performance.now() + 250; performance.now() < endsAt; );
      assert.equal((await found)?.scores, SCORES);
      assert.equal(lines, []);
    }),
  );

  check.needing(missing, 'is noticed while no one asks it', async () => {
    const hung = await startRedis(await freePort());
    await inWorld(async ({ replica, events }) => {
      // Ten seconds pass in a twentieth of one.
      const hasty: Clock = {
        now: systemClock.now,
        after: (delayMs, task) => systemClock.after(delayMs > 5000 ? delayMs / 200 : delayMs, task),
      };
      const state = replica(undefined, hasty);
      await until(state.isUp, 'the connection');
      hung.signal('SIGSTOP');
      await until(() => !state.isUp(), 'the loss');
      assert.equal(events(), ['shared-state-lost']);
      hung.signal('SIGCONT');
    }, hung.url)();
  });

  check.needing(missing, 'by refusing writes stays lost until it takes them again', async () => {
    const server = await startRedis(await freePort());
    await inWorld(async ({ connected, lines, events, redis }) => {
      const state = await connected();
      await redis.config('SET', 'min-replicas-to-write', '1');
      state.verdicts(1000).store('digest', SCORES);
      await until(() => !state.isUp(), 'the loss');
      await new Promise((resolve) => setTimeout(resolve, 1500));
      assert.equal(events(), ['shared-state-lost']);
      assert.is(JSON.parse(lines[0] ?? '').reason, 'NOREPLICAS');
      await redis.config('SET', 'min-replicas-to-write', '0');
      await until(state.isUp, 'the return');
      assert.equal(events(), ['shared-state-lost', 'shared-state-back']);
    }, server.url)();
  });

  check.needing(missing, 'by refusing what only requests ask for is tried ever more seldom', async () => {
    const server = await startRedis(await freePort());
    await inWorld(async ({ replica, lines, events, redis }) => {
      // The waits between trials, a fifth as long.
      const hasty: Clock = {
        now: systemClock.now,
        after: (delayMs, task) => systemClock.after(delayMs >= 500 ? delayMs / 5 : delayMs, task),
      };
      const state = replica(undefined, hasty);
      await until(state.isUp, 'the connection');
      await redis.call('ACL', 'SETUSER', 'default', '-get');
      const verdicts = state.verdicts(1000);
      for (const endsAt = Date.now() + 650; Date.now() < endsAt; ) {
        assert.is(await verdicts.find('digest', 13), undefined);
        await new Promise((resolve) => setTimeout(resolve, 2));
      }
      const losses = events().filter((event) => event === 'shared-state-lost').length;
      assert.ok(losses === 2 || losses === 3, `${losses} losses`);
      assert.is(JSON.parse(lines[0] ?? '').reason, 'NOPERM');
    }, server.url)();
  });

  check('by never answering from the start is lost, and blocks no one', async () => {
    const sockets = new Set<Socket>();
    const hole = createServer((socket) => {
      sockets.add(socket);
      socket.on('error', () => {});
    });
    await new Promise<void>((resolve) => hole.listen(0, '127.0.0.1', resolve));
    const address = hole.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    await inWorld(async ({ replica, lines, events }) => {
      const state = replica();
      const collected = receivedBy(state);
      const startedAt = performance.now();
      assert.is(await state.verdicts(1000).find('digest', 13), undefined);
      assert.is(await state.rateLimit(5, () => 77)('key'), 77);
      state.coolDowns.publish(REST);
      assert.ok(performance.now() - startedAt < 90);
      await until(() => lines.length > 0, 'the line that says so');
      await until(() => sockets.size >= 4, 'more attempts to connect');
      assert.equal(events(), ['shared-state-lost']);
      assert.is(JSON.parse(lines[0] ?? '').reason, 'timeout');
      assert.not(state.isUp());
      assert.equal(collected, []);
    }, `redis://127.0.0.1:${port}`)();
    for (const socket of sockets) socket.destroy();
    hole.close();
  });

  check('by not being there is lost by the code of the system', async () => {
    await inWorld(
      async ({ replica, lines, events }) => {
        const state = replica();
        await until(() => lines.length > 0, 'the line that says so');
        assert.equal(events(), ['shared-state-lost']);
        assert.is(JSON.parse(lines[0] ?? '').reason, 'ECONNREFUSED');
        assert.not(state.isUp());
      },
      `redis://127.0.0.1:${await freePort()}`,
    )();
  });
});

describe('a Redis with a password', (check) => {
  check.needing(missing, 'is used with the right one and lost with a wrong one, and none is ever written', async () => {
    const port = await freePort();
    await startRedis(port, '--requirepass', 'canary-right');
    const written: string[] = [];
    const { write } = process.stderr;
    process.stderr.write = (chunk: string | Uint8Array) => written.push(String(chunk)) > 0;
    try {
      await inWorld(async ({ replica, lines, events }) => {
        const state = replica();
        await until(state.isUp, 'the connection');
        assert.is(await state.rateLimit(5, () => 77)('key'), 0);
        replica(`redis://:canary-wrong@127.0.0.1:${port}`);
        await until(() => lines.length === 1, 'the line about the wrong password');
        replica(`redis://127.0.0.1:${port}`);
        await until(() => lines.length === 2, 'the line about no password');
        await new Promise((resolve) => setTimeout(resolve, 700));
        assert.equal(events(), ['shared-state-lost', 'shared-state-lost']);
        assert.equal(
          lines.map((line) => JSON.parse(line).reason),
          ['WRONGPASS', 'NOAUTH'],
        );
        assert.ok(state.isUp());
        for (const text of [...lines, ...written]) assert.not.match(text, /canary|127\.0\.0\.1/);
      }, `redis://:canary-right@127.0.0.1:${port}`)();
    } finally {
      process.stderr.write = write;
    }
  });
});

describe('a shared state that is closed', (check) => {
  check.needing(
    missing,
    'has written what it was given, also what came while Redis was slow, and answers on from local state without a word',
    inWorld(async ({ replica, lines, redis, prefix }) => {
      // On a busy machine no time limit of the connection passes.
      const state = replica(undefined, createFakeClock());
      await until(state.isUp, 'the connection');
      await redis.client('PAUSE', 100, 'ALL');
      const found = state.verdicts(60_000).find('first', 13);
      await new Promise((resolve) => setImmediate(resolve));
      state.verdicts(60_000).store('last', SCORES);
      await state.close();
      assert.is(await found, undefined);
      assert.is(await redis.exists(`${prefix}verdict:last`), 1);
      assert.not(state.isUp());
      assert.is(await state.verdicts(60_000).find('last', 13), undefined);
      assert.is(await state.rateLimit(5, () => 77)('key'), 77);
      state.coolDowns.publish(REST);
      await state.close();
      assert.equal(lines, []);
      const clients = String(await redis.client('LIST'));
      assert.is(clients.match(/name=gatehouse/g), null);
    }),
  );
});
