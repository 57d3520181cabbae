import { createServer, type Socket } from 'node:net';
import fc from 'fast-check';
import { Redis } from 'ioredis';
import * as assert from 'uvu/assert';
import { systemClock } from '../../../src/adapter/node/clock.ts';
import type { RedisConnection } from '../../../src/adapter/redis/connection.ts';
import { createRedisCoolDowns } from '../../../src/adapter/redis/cool-downs.ts';
import { createRedisState, type RedisState } from '../../../src/adapter/redis/shared-state.ts';
import type { Clock } from '../../../src/core/clock.ts';
import { createLog } from '../../../src/core/log.ts';
import { createRateLimit, WINDOW_MS, waitFor } from '../../../src/gateway/rate-limit.ts';
import { createKeyPool } from '../../../src/llm/key-pool.ts';
import type { KeyChange, SharedCoolDown } from '../../../src/llm/key-state.ts';
import { describe } from '../../check.ts';
import { createFakeClock } from '../../fake-clock.ts';
import { freePort, missing, startRedis, until } from './servers.ts';

const SCORES = [0, 0.01, 0.5, 1, 0, 0, 0, 0.25, 0, 0, 0, 0.99, 0.3];
const REST: KeyChange = { fingerprint: 'key-1', state: 'cooling', coolDownMs: 60_000, reason: 'quota', strikes: 2 };
const END: KeyChange = { fingerprint: 'key-1', state: 'active', coolDownMs: 0, strikes: 0 };

let common: Promise<Awaited<ReturnType<typeof startRedis>>> | undefined;
const commonRedis = () => {
  common ??= freePort().then((port) => startRedis(port));
  return common;
};

type World = {
  readonly url: string;
  readonly prefix: string;
  /** One more replica of the gateway, with what it logs. */
  readonly replica: (url?: string, clock?: Clock) => RedisState;
  readonly connected: () => Promise<RedisState>;
  readonly lines: string[];
  readonly events: () => string[];
  /** A plain client, to look behind the scenes. */
  readonly redis: Redis;
};

let worlds = 0;
/** Replicas on one Redis, each check under names of its own; all is closed in the end. */
const inWorld = (body: (world: World) => Promise<void>, url?: string) => async (): Promise<void> => {
  const address = url ?? (await commonRedis()).url;
  worlds += 1;
  const prefix = `check-${worlds}:`;
  const states: RedisState[] = [];
  const lines: string[] = [];
  const log = createLog({ level: 'debug', service: 'check', clock: systemClock, write: (line) => lines.push(line) });
  const redis = new Redis(address, { protocol: 2, lazyConnect: true });
  redis.on('error', () => {});
  const replica: World['replica'] = (of = address, clock = systemClock) => {
    const state = createRedisState({ address: { kind: 'server', url: of }, log, clock, keyPrefix: prefix });
    states.push(state);
    return state;
  };
  const connected = async () => {
    const state = replica();
    await until(state.isUp, 'the connection');
    return state;
  };
  const events = () => lines.map((line) => JSON.parse(line).event);
  try {
    await body({ url: address, prefix, replica, connected, lines, events, redis });
  } finally {
    await Promise.all(states.map((state) => state.close()));
    redis.disconnect();
  }
};

/** Collects what a replica is told to adopt. */
const receivedBy = (state: RedisState): SharedCoolDown[] => {
  const collected: SharedCoolDown[] = [];
  state.coolDowns.subscribe((rest) => collected.push(rest));
  return collected;
};

describe('shared cool-downs', (check) => {
  check.needing(
    missing,
    'a rest that one replica learns of is adopted by the others and not by itself',
    inWorld(async ({ connected }) => {
      const [here, there] = [await connected(), await connected()];
      const [own, collected] = [receivedBy(here), receivedBy(there)];
      // An answer to this comes after the empty list of rests that run.
      await there.verdicts(1).find('digest', 13);
      here.coolDowns.publish(REST);
      await until(() => collected.length > 0, 'the rest');
      assert.equal(collected, [{ fingerprint: 'key-1', coolDownMs: 60_000, reason: 'quota', strikes: 2 }]);
      here.coolDowns.publish(END);
      await until(() => collected.length > 1, 'its end');
      assert.is(collected[1]?.coolDownMs, 0);
      assert.equal(own, []);
    }),
  );
  check.needing(
    missing,
    'a rest by hand is kept for replicas that start later, until it is ended by hand',
    inWorld(async ({ connected }) => {
      const here = await connected();
      const others = [await connected(), await connected()].map(receivedBy);
      const byHand = { fingerprint: 'key-1', reason: 'manual', strikes: 0 } as const;
      const later = async (what: string) => {
        const collected = receivedBy(await connected());
        await until(() => collected.length > 0, what);
        return collected;
      };
      here.coolDowns.publish({ ...byHand, state: 'cooling', coolDownMs: 36_000_000 });
      here.coolDowns.publish(END);
      await until(() => others.every((collected) => collected.length === 2), 'both messages');
      const [found] = await later('the rest');
      assert.is(found?.reason, 'manual');
      assert.ok((found?.coolDownMs ?? 0) > 35_000_000);
      here.coolDowns.publish({ ...byHand, state: 'active', coolDownMs: 0 });
      await until(() => others.every((collected) => collected.length === 3), 'the release');
      const last = await connected();
      const collected = receivedBy(last);
      await last.verdicts(1).find('digest', 13);
      assert.equal(collected, []);
    }),
  );
  check.needing(
    missing,
    'keys rest and return in all replicas together',
    inWorld(async ({ connected }) => {
      const states = [await connected(), await connected()];
      let time = 0;
      const pools = states.map((state) => {
        const keys = [{ secret: 'first', fingerprint: 'f1' }];
        const pool = createKeyPool(keys, () => time, state.coolDowns.publish);
        state.coolDowns.subscribe(pool.adopt);
        return pool;
      });
      const stateOf = (index: number) => pools[index]?.statuses()[0]?.state;
      pools[0]?.take(new Set())?.refuse({ reason: 'auth' });
      await until(() => stateOf(1) === 'cooling', 'the rest');
      time = 600_001;
      pools[0]?.take(new Set())?.succeed();
      await until(() => stateOf(1) === 'active', 'its end');
      assert.is(stateOf(0), 'active');
    }),
  );
  check.needing(
    missing,
    'a replica that starts later rests the keys for what is left, and none whose rest has ended',
    inWorld(async ({ connected, replica, redis, prefix }) => {
      const first = await connected();
      const second = await connected();
      const witness = receivedBy(second);
      await second.verdicts(1).find('digest', 13);
      first.coolDowns.publish(REST);
      first.coolDowns.publish({ ...REST, fingerprint: 'key-2' });
      first.coolDowns.publish({ ...END, fingerprint: 'key-2' });
      await until(() => witness.length === 3, 'the news');
      assert.is(await redis.exists(`${prefix}rest:key-2`), 0);
      await redis.pexpire(`${prefix}rest:key-1`, 30_000);
      const late = replica();
      const collected = receivedBy(late);
      await until(() => collected.length > 0, 'the stored rest');
      assert.is(collected.length, 1);
      assert.is(collected[0]?.fingerprint, 'key-1');
      assert.is(collected[0]?.strikes, 2);
      assert.ok((collected[0]?.coolDownMs ?? 0) > 25_000 && (collected[0]?.coolDownMs ?? 0) <= 30_000);
      const afterwards = receivedBy(late);
      await until(() => afterwards.length > 0, 'the stored rest for who subscribes later');
    }),
  );
  check.needing(
    missing,
    'what passes by itself is not shared, and a stored rest is not shortened',
    inWorld(async ({ connected, redis, prefix }) => {
      const here = await connected();
      const there = await connected();
      const collected = receivedBy(there);
      await there.verdicts(1).find('digest', 13);
      here.coolDowns.publish({ ...REST, state: 'half-open', coolDownMs: 0 });
      here.coolDowns.publish({ ...REST, state: 'probing', coolDownMs: 0 });
      here.coolDowns.publish(REST);
      here.coolDowns.publish({ ...REST, coolDownMs: 1234.5, reason: 'burst' });
      await until(() => collected.length > 1, 'the rests');
      assert.equal(
        collected.map(({ coolDownMs }) => coolDownMs),
        [60_000, 1235],
      );
      assert.ok((await redis.pttl(`${prefix}rest:key-1`)) > 50_000);
    }),
  );
  check.needing(
    missing,
    'messages and stored values of another shape change nothing',
    inWorld(async ({ connected, replica, redis, prefix }) => {
      const collected = receivedBy(await connected());
      const good = { from: 'somebody', fingerprint: 'key-1', reason: 'auth', restMs: 5000, strikes: 1 };
      const odd = [
        '',
        'null',
        '[]',
        '{',
        JSON.stringify({ ...good, fingerprint: 7 }),
        JSON.stringify({ ...good, reason: 'mood' }),
        JSON.stringify({ ...good, restMs: -1 }),
        JSON.stringify({ ...good, restMs: '5000' }),
        JSON.stringify(good).replace('5000', '1e999'),
        JSON.stringify({ ...good, strikes: 1.5 }),
      ];
      for (const text of odd) await redis.publish(`${prefix}rests`, text);
      await redis.publish(`${prefix}rests`, JSON.stringify({ ...good, fingerprint: 'last' }));
      await until(() => collected.length > 0, 'the sane message');
      assert.equal(
        collected.map(({ fingerprint }) => fingerprint),
        ['last'],
      );
      for (const [index, text] of odd.entries()) await redis.set(`${prefix}rest:odd-${index}`, text, 'PX', 60_000);
      await redis.set(`${prefix}rest:endless`, JSON.stringify({ ...good, fingerprint: 'endless' }));
      await redis.set(`${prefix}rest:other`, JSON.stringify(good), 'PX', 60_000);
      await redis.lpush(`${prefix}rest:list`, 'a');
      await redis.set(`${prefix}rest:sane`, JSON.stringify({ ...good, fingerprint: 'sane' }), 'PX', 60_000);
      await redis.sadd(`${prefix}rests`, ...odd.map((_, index) => `odd-${index}`), 'endless', 'other', 'list', 'sane');
      const late = replica();
      const loaded = receivedBy(late);
      await until(() => loaded.length > 0, 'the sane stored rest');
      assert.equal(
        loaded.map(({ fingerprint }) => fingerprint),
        ['sane'],
      );
      assert.ok(late.isUp());
    }),
  );
});

describe('loading the rests that run', (check) => {
  check('does not restore a cool-down whose end was reported meanwhile', async () => {
    const stored = { from: 'somebody', fingerprint: 'key-1', reason: 'auth', restMs: 9000, strikes: 1 };
    const answer = Promise.withResolvers<string>();
    const redis = { smembers: async () => ['key-1'], get: () => answer.promise, pttl: async () => 5000 };
    let receive = (_text: string): void => {};
    const link: RedisConnection = {
      run: (command) => command(redis as never),
      isUp: () => true,
      onUp() {},
      onMessage(listener) {
        receive = listener;
      },
      async close() {},
    };
    const coolDowns = createRedisCoolDowns({
      connection: link,
      clock: systemClock,
      channel: 'c',
      prefix: 'p:',
      replica: 'here',
    });
    const collected: SharedCoolDown[] = [];
    coolDowns.subscribe((rest) => collected.push(rest));
    receive(JSON.stringify({ ...stored, restMs: 0 }));
    answer.resolve(JSON.stringify(stored));
    await new Promise(setImmediate);
    assert.equal(
      collected.map(({ coolDownMs }) => coolDownMs),
      [0],
    );
  });
});

describe('shared verdicts', (check) => {
  check.needing(
    missing,
    'a verdict that one replica keeps is found by the others until its life time is over',
    inWorld(async ({ connected, redis, prefix }) => {
      const [here, there] = [(await connected()).verdicts(60_000), (await connected()).verdicts(60_000)];
      assert.is(await there.find('digest', 13), undefined);
      here.store('digest', SCORES);
      await until(async () => (await there.find('digest', 13)) !== undefined, 'the verdict');
      const found = await there.find('digest', 13);
      assert.equal(found?.scores, SCORES);
      assert.ok(found !== undefined && found.leftMs > 50_000 && found.leftMs <= 60_000);
      await redis.pexpire(`${prefix}verdict:digest`, 30_000);
      assert.ok(((await there.find('digest', 13))?.leftMs ?? 0) <= 30_000);
      await redis.pexpire(`${prefix}verdict:digest`, 60_000);
      assert.is(await redis.get(`${prefix}verdict:digest`), JSON.stringify(SCORES));
      const leftMs = await redis.pttl(`${prefix}verdict:digest`);
      assert.ok(leftMs > 50_000 && leftMs <= 60_000);
      (await connected()).verdicts(500).store('brief', SCORES);
      await until(async () => (await redis.exists(`${prefix}verdict:brief`)) === 1, 'the brief verdict');
      await until(async () => (await there.find('brief', 13)) === undefined, 'its end');
    }),
  );
  check.needing(
    missing,
    'nothing is kept without a life time',
    inWorld(async ({ connected, redis, prefix }) => {
      const state = await connected();
      state.verdicts(0).store('digest', SCORES);
      state.verdicts(1000).store('after', SCORES);
      await until(async () => (await redis.exists(`${prefix}verdict:after`)) === 1, 'the second verdict');
      assert.is(await redis.exists(`${prefix}verdict:digest`), 0);
      assert.is(await state.verdicts(0).find('after', 13), undefined);
    }),
  );
  check.needing(
    missing,
    'what is not thirteen numbers from 0 to 1 counts as not found',
    inWorld(async ({ connected, redis, prefix, lines }) => {
      const state = await connected();
      const verdicts = state.verdicts(60_000);
      const odd = [
        '',
        'x',
        '{}',
        'null',
        '[]',
        JSON.stringify(SCORES.slice(1)),
        JSON.stringify([...SCORES, 0]),
        JSON.stringify(SCORES.with(4, 1.01)),
        JSON.stringify(SCORES.with(4, -0.01)),
        JSON.stringify(SCORES.map(String)),
        JSON.stringify(SCORES.with(0, Number.NaN)),
      ];
      for (const text of odd) {
        await redis.set(`${prefix}verdict:odd`, text, 'PX', 60_000);
        assert.is(await verdicts.find('odd', 13), undefined, text);
      }
      await redis.set(`${prefix}verdict:endless`, JSON.stringify(SCORES));
      assert.is(await verdicts.find('endless', 13), undefined);
      await redis.lpush(`${prefix}verdict:list`, 'a');
      assert.is(await verdicts.find('list', 13), undefined);
      assert.ok(state.isUp());
      assert.equal(lines, []);
    }),
  );
});

describe('shared rate limit', (check) => {
  check.needing(
    missing,
    'lets exactly the limit pass over all replicas together, for each key',
    inWorld(async ({ connected, redis, prefix }) => {
      const local = createRateLimit(1000, Date.now);
      const limits = [(await connected()).rateLimit(20, local), (await connected()).rateLimit(20, local)];
      const waits = await Promise.all(Array.from({ length: 60 }, (_, index) => limits[index % 2]?.('busy')));
      assert.is(waits.filter((wait) => wait === 0).length, 20);
      assert.ok(waits.every((wait) => wait !== undefined && wait >= 0 && wait <= 2 * WINDOW_MS));
      assert.is(await limits[0]?.('idle'), 0);
      const leftMs = await redis.pttl(`${prefix}rate:busy`);
      assert.ok(leftMs > WINDOW_MS && leftMs <= 2 * WINDOW_MS);
    }),
  );
  check.needing(
    missing,
    'answers as the local rate limit would with the same counts',
    inWorld(async ({ connected, redis, prefix }) => {
      const state = await connected();
      const timeOf = async (): Promise<number> => {
        const [seconds, micros] = await redis.time();
        return Number(seconds) * 1000 + Math.floor(Number(micros) / 1000);
      };
      const count = fc.nat({ max: 30 });
      await fc.assert(
        fc.asyncProperty(fc.integer({ min: 1, max: 25 }), count, count, fc.boolean(), async (...drawn) => {
          const [limit, earlier, later, isOver] = drawn;
          const before = await timeOf();
          const window = Math.floor(before / WINDOW_MS);
          // A minute that is over: its count is the earlier one now, and what was earlier then is forgotten.
          const stored = isOver
            ? { window: window - 1, previous: later, current: earlier }
            : { window, previous: earlier, current: later };
          await redis.hset(`${prefix}rate:key`, stored);
          const waitMs = await state.rateLimit(limit, () => 0)('key');
          const after = await timeOf();
          if (Math.floor(after / WINDOW_MS) !== window) return;
          const current = isOver ? 0 : later;
          const most = waitFor(limit, earlier, current, before - window * WINDOW_MS);
          const least = waitFor(limit, earlier, current, after - window * WINDOW_MS);
          assert.ok(least <= waitMs && waitMs <= most, `${least} <= ${waitMs} <= ${most}`);
          const counted = Number(await redis.hget(`${prefix}rate:key`, 'current'));
          assert.is(counted, waitMs === 0 ? current + 1 : stored.current);
        }),
        { numRuns: 150 },
      );
    }),
  );
  check.needing(
    missing,
    'counts from nothing where something else is stored',
    inWorld(async ({ connected, redis, prefix, lines }) => {
      const limit = (await connected()).rateLimit(2, () => 0);
      await redis.set(`${prefix}rate:text`, 'not a count');
      await redis.hset(`${prefix}rate:hash`, { window: 'soon', previous: 'x', current: '' });
      for (const key of ['text', 'hash']) {
        const waits = [await limit(key), await limit(key), await limit(key)];
        assert.equal(
          waits.map((wait) => wait > 0),
          [false, false, true],
        );
      }
      assert.equal(lines, []);
    }),
  );
  check.needing(
    missing,
    'a limit of 0 sends no request',
    inWorld(async ({ connected, redis, prefix }) => {
      assert.is(await (await connected()).rateLimit(0, createRateLimit(0, Date.now))('key'), 0);
      assert.is(await redis.exists(`${prefix}rate:key`), 0);
    }),
  );
});

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
      await redis.set(`${prefix}verdict:digest`, JSON.stringify(SCORES), 'PX', 60_000);
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
