import * as assert from 'uvu/assert';
import { systemClock } from '../../../../../src/adapter/node/clock.ts';
import { createRedisSigner } from '../../../../../src/gateway/adapter/redis/verdicts.ts';
import { describe } from '../../../../check.ts';
import { missing, until } from '../servers.ts';
import { inWorld, SCORES, signed } from './world.ts';

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
      const name = `${prefix}verdict:digest`;
      assert.is(await redis.get(name), signed(name, JSON.stringify(SCORES)));
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
    'a verdict that no replica has signed for its place counts as not found, and the log says so once a minute',
    inWorld(async ({ replica, redis, prefix, lines, events }) => {
      let now = 0;
      const state = replica(undefined, { ...systemClock, now: () => now });
      await until(state.isUp, 'the connection');
      const verdicts = state.verdicts(60_000);
      verdicts.store('honest', SCORES);
      const honest = `${prefix}verdict:honest`;
      await until(async () => (await redis.exists(honest)) === 1, 'the honest verdict');
      const written = (await redis.get(honest)) ?? '';
      assert.equal((await verdicts.find('honest', 13))?.scores, SCORES);
      const clean = JSON.stringify(SCORES.map(() => 0));
      const forged = [
        clean,
        '',
        written.slice(0, 43),
        written.slice(0, 43) + clean,
        `${'A'.repeat(43)}${clean}`,
        signed(`${prefix}verdict:other`, clean),
        createRedisSigner('another secret')(`${prefix}verdict:forged`, clean),
        // Written for another text.
        written,
        `${written}\n`,
        '\u{1f600}'.repeat(50),
      ];
      for (const text of forged) {
        await redis.set(`${prefix}verdict:forged`, text, 'PX', 60_000);
        assert.is(await verdicts.find('forged', 13), undefined, text);
      }
      assert.equal(events().filter((event) => event === 'shared-verdict-refused').length, 1);
      now += 60_000;
      await verdicts.find('forged', 13);
      const [first, second, ...more] = lines
        .map((line) => JSON.parse(line))
        .filter(({ event }) => event === 'shared-verdict-refused');
      assert.equal([first?.count, second?.count, more.length], [1, 10, 0]);
    }),
  );

  check.needing(
    missing,
    'replicas with different secrets do not take each other for a judge',
    inWorld(async ({ replica }) => {
      const [here, there] = [replica(), replica(undefined, undefined, 'another secret')];
      await until(() => here.isUp() && there.isUp(), 'the connections');
      here.verdicts(60_000).store('digest', SCORES);
      await until(async () => (await here.verdicts(60_000).find('digest', 13)) !== undefined, 'the verdict');
      assert.is(await there.verdicts(60_000).find('digest', 13), undefined);
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
        await redis.set(`${prefix}verdict:odd`, signed(`${prefix}verdict:odd`, text), 'PX', 60_000);
        assert.is(await verdicts.find('odd', 13), undefined, text);
      }
      const endless = `${prefix}verdict:endless`;
      await redis.set(endless, signed(endless, JSON.stringify(SCORES)));
      assert.is(await verdicts.find('endless', 13), undefined);
      await redis.lpush(`${prefix}verdict:list`, 'a');
      assert.is(await verdicts.find('list', 13), undefined);
      assert.ok(state.isUp());
      assert.equal(lines, []);
    }),
  );

  check.needing(
    missing,
    'a text that nobody has judged costs six commands: four for the limit of its key, one to look, one to store',
    inWorld(async ({ connected, redis, prefix }) => {
      const state = await connected();
      const [limit, verdicts] = [state.rateLimit(1000, () => 0), state.verdicts(60_000)];
      const judge = async (text: string): Promise<void> => {
        await limit('key');
        assert.is(await verdicts.find(text, 13), undefined);
        verdicts.store(text, SCORES);
      };
      await judge('first');
      await until(async () => (await redis.exists(`${prefix}verdict:first`)) === 1, 'the first verdict');
      await redis.config('RESETSTAT');
      for (let text = 0; text < 50; text += 1) await judge(`text-${text}`);
      await until(async () => (await redis.exists(`${prefix}verdict:text-49`)) === 1, 'the last verdict');
      const stats = await redis.info('commandstats');
      const calls = (...names: string[]): number =>
        names.reduce((sum, name) => sum + Number(new RegExp(`cmdstat_${name}:calls=(\\d+)`).exec(stats)?.[1] ?? 0), 0);
      assert.is(calls('evalsha', 'get', 'set'), 150);
      assert.is(calls('time', 'hmget', 'hset'), 150);
      // A minute may begin meanwhile, and the connection looks after itself.
      assert.ok(calls('eval', 'pexpire', 'pttl') <= 5, stats);
    }),
  );
});
