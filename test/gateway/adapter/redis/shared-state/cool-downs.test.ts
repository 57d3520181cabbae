import * as assert from 'uvu/assert';
import { systemClock } from '../../../../../src/adapter/node/clock.ts';
import type { RedisConnection } from '../../../../../src/gateway/adapter/redis/connection.ts';
import { createRedisCoolDowns } from '../../../../../src/gateway/adapter/redis/cool-downs.ts';
import { createKeyPool } from '../../../../../src/llm/key-pool.ts';
import type { SharedCoolDown } from '../../../../../src/llm/key-state.ts';
import { describe } from '../../../../check.ts';
import { missing, until } from '../servers.ts';
import { END, inWorld, REST, receivedBy } from './world.ts';

describe('shared cool-downs', (check) => {
  check.needing(
    missing,
    'that a replica fails to process end neither it nor what it receives later',
    inWorld(async ({ connected }) => {
      const [here, there] = [await connected(), await connected()];
      let failures = 0;
      there.coolDowns.subscribe(() => {
        failures += 1;
        throw new RangeError('a bug');
      });
      await there.verdicts(1).find('digest', 13);
      for (const count of [1, 2]) {
        here.coolDowns.publish(count === 1 ? REST : END);
        await until(() => failures === count, `message ${count}`);
      }
    }),
  );

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
      runSoon() {},
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
