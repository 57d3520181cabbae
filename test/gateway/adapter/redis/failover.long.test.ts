import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { systemClock } from '../../../../src/adapter/node/clock.ts';
import { createLog } from '../../../../src/core/log.ts';
import { parseRedisAddress } from '../../../../src/gateway/adapter/redis/address.ts';
import { createRedisState, type RedisState } from '../../../../src/gateway/adapter/redis/shared-state.ts';
import { createRateLimit } from '../../../../src/gateway/routes/rate-limit.ts';
import type { KeyChange, SharedCoolDown } from '../../../../src/llm/key-state.ts';
import { describe } from '../../../check.ts';
import { freePort, missing, startRedis, startServer, until } from './servers.ts';

const LIMIT = 200;
const LIFETIME_MS = 600_000;
const LOAD_MS = 6000;
/** How long a call may take whatever Redis does: its own limit, twice where it looks for two things, and a busy machine. */
const LONGEST_CALL_MS = 1000;
const REST: KeyChange = { fingerprint: 'key-1', state: 'cooling', coolDownMs: 60_000, reason: 'quota', strikes: 2 };

const directory = mkdtempSync(join(tmpdir(), 'gatehouse-redis-'));
process.on('exit', () => rmSync(directory, { recursive: true, force: true }));

/** The scores of a text are made of its number, so that a verdict of another text is noticed. */
const scoresOf = (text: number): readonly number[] =>
  Array.from({ length: 13 }, (_, index) => ((text + index) % 97) / 100);

const replicaAt = (url: string) => {
  const address = parseRedisAddress(url);
  const events: string[] = [];
  const log = createLog({
    level: 'debug',
    service: 'check',
    clock: systemClock,
    write: (line) => events.push(JSON.parse(line).event),
  });
  return { state: createRedisState({ address, secret: 'shared', log }), events };
};

type Load = { readonly calls: number; readonly slowestMs: number; readonly found: number; readonly allowed: number };

/** Verdicts are stored and looked up, and requests are counted, until the time is over. No verdict may be another text's. */
const load = async (state: RedisState, durationMs: number, keyId: string): Promise<Load> => {
  const verdicts = state.verdicts(LIFETIME_MS);
  const limit = state.rateLimit(LIMIT, createRateLimit(LIMIT, systemClock.now));
  const counts = { calls: 0, slowestMs: 0, found: 0, allowed: 0 };
  const timed = async <T>(call: () => T | Promise<T>): Promise<T> => {
    const startedAt = performance.now();
    const result = await call();
    counts.calls += 1;
    counts.slowestMs = Math.max(counts.slowestMs, performance.now() - startedAt);
    return result;
  };
  const endsAt = Date.now() + durationMs;
  const client = async (first: number): Promise<void> => {
    for (let text = first; Date.now() < endsAt; text = (text + 7) % 60) {
      const known = await timed(() => verdicts.find(`text-${text}`, 13));
      if (known === undefined) verdicts.store(`text-${text}`, scoresOf(text));
      else {
        counts.found += 1;
        assert.equal(known.scores, scoresOf(text));
      }
      if ((await timed(() => limit(keyId))) === 0) counts.allowed += 1;
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
  };
  await Promise.all([1, 2, 3, 4].map(client));
  return counts;
};

const cli = (...words: string[]): string => {
  const { status, stdout, stderr } = spawnSync('redis-cli', words, { encoding: 'utf8', timeout: 60_000 });
  assert.is(status, 0, stdout + stderr);
  return stdout;
};

/** Three primaries with every slot, and a replica of the first. */
const startCluster = async () => {
  const start = async () => {
    const port = await freePort();
    const file = join(directory, `nodes-${port}.conf`);
    const words = ['--cluster-enabled', 'yes', '--cluster-node-timeout', '1000', '--cluster-config-file', file];
    const server = await startRedis(port, ...words, '--cluster-port', String(await freePort()));
    return { ...server, port, place: `127.0.0.1:${port}` };
  };
  const first = await start();
  const primaries = [first, await start(), await start()];
  cli('--cluster', 'create', ...primaries.map(({ place }) => place), '--cluster-yes');
  const id = cli('-p', String(first.port), 'cluster', 'myid').trim();
  const replica = await start();
  const words = ['--cluster-slave', '--cluster-master-id', id];
  // The new server is known to all only some time after it was added, and refused before.
  const isAdded = () =>
    spawnSync('redis-cli', ['--cluster', 'add-node', replica.place, first.place, ...words]).status === 0 ||
    cli('-p', String(first.port), 'cluster', 'nodes').includes(`:${replica.port}@`);
  await until(isAdded, 'the replica');
  const isLinked = () => cli('-p', String(replica.port), 'info', 'replication').includes('master_link_status:up');
  await until(isLinked, 'the replica to follow');
  const all = [...primaries, replica];
  return {
    url: `redis-cluster://${primaries.map(({ place }) => place).join(',')}`,
    killFirst: first.kill,
    end: () => Promise.all(all.map((server) => server.signal('SIGKILL'))),
  };
};

/** A primary with a replica, and two Sentinels that watch them and agree. */
const startSentinels = async () => {
  const [port, replicaPort] = [await freePort(), await freePort()];
  const primary = await startRedis(port);
  const replica = await startRedis(replicaPort, '--replicaof', '127.0.0.1', String(port));
  await until(
    () => cli('-p', String(replicaPort), 'info', 'replication').includes('master_link_status:up'),
    'the replica to follow',
  );
  const ports = [await freePort(), await freePort()];
  const sentinels = [];
  for (const sentinelPort of ports) {
    const file = join(directory, `sentinel-${sentinelPort}.conf`);
    const lines = [
      `port ${sentinelPort}`,
      'bind 127.0.0.1',
      `dir ${directory}`,
      `sentinel monitor main 127.0.0.1 ${port} 2`,
      'sentinel down-after-milliseconds main 1000',
      'sentinel failover-timeout main 4000',
    ];
    writeFileSync(file, `${lines.join('\n')}\n`);
    sentinels.push(await startServer(sentinelPort, [file, '--sentinel']));
  }
  const knowEachOther = () =>
    ports.every((one) => /num-other-sentinels\n1\n/.test(cli('-p', String(one), 'sentinel', 'master', 'main')));
  await until(knowEachOther, 'the Sentinels to find each other');
  const all = [primary, replica, ...sentinels];
  return {
    url: `redis-sentinel://${ports.map((one) => `127.0.0.1:${one}`).join(',')}/main`,
    killFirst: primary.kill,
    end: () => Promise.all(all.map((server) => server.signal('SIGKILL'))),
  };
};

const STARTS = { 'a Redis Cluster of three primaries': startCluster, 'a primary behind two Sentinels': startSentinels };

for (const [name, start] of Object.entries(STARTS))
  describe(name, (check) => {
    const started = missing === undefined ? start() : undefined;
    const inWorld = async (body: (world: Awaited<ReturnType<typeof start>>) => Promise<void>) => {
      assert.ok(started);
      await body(await started);
    };

    check.needing(missing, 'shares verdicts, counts and cool-downs between replicas', () =>
      inWorld(async ({ url }) => {
        const [one, two] = [replicaAt(url), replicaAt(url)];
        await until(() => one.state.isUp() && two.state.isUp(), 'both connections');
        const verdicts = one.state.verdicts(LIFETIME_MS);
        for (let text = 0; text < 50; text += 1) verdicts.store(`shared-${text}`, scoresOf(text));
        const others = two.state.verdicts(LIFETIME_MS);
        for (let text = 0; text < 50; text += 1) {
          const key = `shared-${text}`;
          await until(async () => (await others.find(key, 13)) !== undefined, key);
          assert.equal((await others.find(key, 13))?.scores, scoresOf(text));
        }
        const limits = [one, two].map(({ state }) => state.rateLimit(10, createRateLimit(10, systemClock.now)));
        const waits = await Promise.all(Array.from({ length: 20 }, (_, index) => limits[index % 2]?.('counted')));
        assert.is(waits.filter((waitMs) => waitMs === 0).length, 10);
        const received: SharedCoolDown[] = [];
        two.state.coolDowns.subscribe((rest) => received.push(rest));
        one.state.coolDowns.publish(REST);
        await until(() => received.some(({ fingerprint }) => fingerprint === 'key-1'), 'the cool-down');
        const late: SharedCoolDown[] = [];
        const third = replicaAt(url);
        third.state.coolDowns.subscribe((rest) => late.push(rest));
        await until(
          () => late.some(({ fingerprint, reason }) => fingerprint === 'key-1' && reason === 'quota'),
          'it at a new replica',
        );
        await Promise.all([one, two, third].map(({ state }) => state.close()));
      }),
    );

    check.needing(missing, 'loses a server under load: no verdict is wrong, no call hangs, and it is used again', () =>
      inWorld(async ({ url, killFirst }) => {
        const replicas = [replicaAt(url), replicaAt(url)];
        await until(() => replicas.every(({ state }) => state.isUp()), 'both connections');
        const loads = replicas.map(({ state }) => load(state, LOAD_MS, 'limited'));
        await new Promise((resolve) => setTimeout(resolve, 1500));
        await killFirst();
        const results = await Promise.all(loads);
        for (const { calls, found, slowestMs } of results) {
          assert.ok(calls > 200 && found > 50, `${calls} calls, ${found} found`);
          assert.ok(slowestMs < LONGEST_CALL_MS, `a call took ${slowestMs} ms`);
        }
        // Each replica counts for itself while the server is missed, and what was counted last may be lost with it.
        const allowed = results.reduce((sum, result) => sum + result.allowed, 0);
        assert.ok(allowed <= LIMIT * (replicas.length + 1), `${allowed} of ${LIMIT} a minute`);
        for (const { state, events } of replicas) {
          await until(state.isUp, 'the connection to the new primary');
          assert.ok(events.includes('shared-state-lost') && events.includes('shared-state-back'), String(events));
        }
        const [one, two] = replicas;
        one?.state.verdicts(LIFETIME_MS).store('after', scoresOf(5));
        await until(
          async () => (await two?.state.verdicts(LIFETIME_MS).find('after', 13)) !== undefined,
          'a verdict that was stored after it',
        );
        await Promise.all(replicas.map(({ state }) => state.close()));
      }),
    );

    check.needing(missing, 'ends', () => inWorld(async ({ end }) => void (await end())));
  });

describe('a Redis Cluster that refuses everything', (check) => {
  check.needing(missing, 'leaves each replica with its own state', async () => {
    const port = await freePort();
    const file = join(directory, 'alone.conf');
    const server = await startRedis(port, '--cluster-enabled', 'yes', '--cluster-config-file', file);
    const { state, events } = replicaAt(`redis-cluster://127.0.0.1:${port}`);
    await until(() => events.includes('shared-state-lost'), 'the log line');
    const limit = state.rateLimit(3, createRateLimit(3, systemClock.now));
    const waits = await Promise.all([1, 2, 3, 4].map(() => limit('key')));
    assert.equal(
      waits.map((waitMs) => waitMs === 0),
      [true, true, true, false],
    );
    assert.is(await state.verdicts(LIFETIME_MS).find('text', 13), undefined);
    await state.close();
    await server.kill();
  });
});
