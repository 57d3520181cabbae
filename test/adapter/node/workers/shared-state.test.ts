import fc from 'fast-check';
import * as assert from 'uvu/assert';
import { packVerdict, unpackScores } from '../../../../src/adapter/node/workers/verdicts.ts';
import { ConfigError } from '../../../../src/core/config.ts';
import { createRateLimit } from '../../../../src/gateway/rate-limit.ts';
import { createKeyPool } from '../../../../src/llm/key-pool.ts';
import { describe } from '../../../check.ts';
import { createWorld, settle } from './world.ts';

const SCORES = [0, 0.01, 0.5, 1, 0, 0, 0, 0.25, 0, 0, 0, 0.99, 0.3];

describe('a rate limit of several workers', (check) => {
  check('allows as many requests as one process would', async () => {
    const { clock, join } = createWorld(5);
    const limits = [join(), join(), join()].map(({ state }) => state.rateLimit(5, createRateLimit(5, clock.now)));
    const waits = await Promise.all(Array.from({ length: 12 }, (_, turn) => limits[turn % 3]?.('key-a')));
    assert.is(waits.filter((waitMs) => waitMs === 0).length, 5);
    assert.ok(waits.every((waitMs = 0) => waitMs === 0 || waitMs > 1000));
    assert.is(await limits[0]?.('key-b'), 0);
  });

  check(
    'is the worker’s own while the first process does not answer, and includes what it has counted with it',
    async () => {
      const { clock, join } = createWorld(5);
      const worker = join();
      const limit = worker.state.rateLimit(5, createRateLimit(5, clock.now));
      for (let turn = 0; turn < 3; turn++) assert.is(await limit('key-a'), 0);
      worker.cut();
      const waits = Array.from({ length: 4 }, () => limit('key-a'));
      await settle();
      await clock.advance(100);
      assert.equal(
        (await Promise.all(waits)).map((waitMs) => waitMs === 0),
        [true, true, false, false],
      );
    },
  );

  check('asks nobody when there is none', async () => {
    const { clock, join } = createWorld(0);
    const worker = join();
    assert.is(await worker.state.rateLimit(0, createRateLimit(0, clock.now))('key-a'), 0);
    await settle();
    assert.equal(worker.messages, []);
  });
});

describe('cool-downs of several workers', (check) => {
  check('start and end in all of them, and in one that starts meanwhile with what is left', async () => {
    const { clock, join } = createWorld();
    const pools = [join(), join()].map(({ state }) => {
      const pool = createKeyPool([{ secret: 'secret-1', fingerprint: 'f1' }], clock.now, state.coolDowns.publish);
      state.coolDowns.subscribe(pool.adopt);
      return pool;
    });
    pools[0]?.take(new Set())?.refuse({ reason: 'quota' });
    await settle();
    assert.equal(
      pools.map((pool) => pool.statuses()[0]?.state),
      ['cooling', 'cooling'],
    );

    await clock.advance(60_000);
    const { state: late, registration } = join();
    const adopted: unknown[] = [];
    late.coolDowns.subscribe((coolDown) => adopted.push(coolDown));
    registration.onNotice({ kind: 'started' });
    await settle();
    assert.equal(adopted.at(-1), { fingerprint: 'f1', reason: 'quota', coolDownMs: 840_000, strikes: 1 });

    await clock.advance(840_000);
    pools[1]?.take(new Set())?.succeed();
    await settle();
    assert.equal(
      pools.map((pool) => pool.statuses()[0]?.state),
      ['active', 'active'],
    );
    assert.is((adopted.at(-1) as { coolDownMs: number }).coolDownMs, 0);
  });
});

describe('a rest by hand of several workers', (check) => {
  const poolsOf = (join: ReturnType<typeof createWorld>['join'], now: () => number) =>
    [join(), join()].map(({ state }) => {
      const pool = createKeyPool([{ secret: 'secret-1', fingerprint: 'f1' }], now, state.coolDowns.publish);
      state.coolDowns.subscribe(pool.adopt);
      return pool;
    });

  check('is in all of them until it is ended by hand, and in one that starts meanwhile', async () => {
    const { clock, join } = createWorld();
    const pools = poolsOf(join, clock.now);
    const before = pools[1]?.take(new Set());
    pools[0]?.rest('f1', 36_000_000);
    await settle();
    before?.succeed();
    // As of a worker whose probe succeeds before the rest reaches it.
    const { state, registration } = join();
    state.coolDowns.publish({ fingerprint: 'f1', state: 'active', coolDownMs: 0, strikes: 0 });
    await settle();
    const adopted: unknown[] = [];
    state.coolDowns.subscribe((coolDown) => adopted.push(coolDown));
    registration.onNotice({ kind: 'started' });
    await settle();
    assert.equal(adopted, [{ fingerprint: 'f1', reason: 'manual', coolDownMs: 36_000_000, strikes: 0 }]);
    assert.equal(
      pools.map((pool) => pool.statuses()[0]?.reason),
      ['manual', 'manual'],
    );
    pools[1]?.release('f1');
    await settle();
    assert.equal(
      pools.map((pool) => pool.statuses()[0]?.state),
      ['active', 'active'],
    );
  });
});

describe('verdicts of several workers', (check) => {
  check('are found by the others at once, those that follow together, and for what is left of their time', async () => {
    const { clock, join } = createWorld();
    const [here, there] = [join(), join()];
    const [mine, theirs] = [here.state.verdicts(1000), there.state.verdicts(1000)];
    for (const digest of ['digest-1', 'digest-2', 'digest-3']) mine.store(digest, SCORES);
    await settle();
    assert.equal(await theirs.find('digest-1', 13), { scores: SCORES, leftMs: 1000 });
    assert.is(await theirs.find('digest-2', 13), undefined);
    await clock.advance(250);
    await settle();
    assert.equal(await theirs.find('digest-1', 13), { scores: SCORES, leftMs: 750 });
    assert.equal((await theirs.find('digest-2', 13))?.scores, SCORES);
    assert.equal((await theirs.find('digest-3', 13))?.scores, SCORES);
    assert.is(here.messages.length, 2);
    await clock.advance(250);
    assert.is(clock.pending(), 0);
    await clock.advance(500);
    assert.is(await theirs.find('digest-1', 13), undefined);
  });

  check('are sent up to a number at a time, so that quick judges cost no more', async () => {
    const { clock, join } = createWorld();
    const [here, there] = [join(), join()];
    const [mine, theirs] = [here.state.verdicts(1000), there.state.verdicts(1000)];
    for (let number = 0; number < 80; number++) mine.store(`digest-${number}`, SCORES);
    await clock.advance(250);
    await settle();
    assert.equal((await theirs.find('digest-25', 13))?.scores, SCORES);
    assert.is(await theirs.find('digest-26', 13), undefined);
    mine.store('digest-next', SCORES);
    await clock.advance(250);
    await settle();
    assert.equal((await theirs.find('digest-next', 13))?.scores, SCORES);
  });

  check('are the same after their way, and what is none is not found', async () => {
    const hundredths = fc.array(fc.integer({ min: 0, max: 100 }), { minLength: 13, maxLength: 13 });
    fc.assert(
      fc.property(hundredths, (numbers) => {
        const scores = numbers.map((number) => number / 100);
        assert.equal(unpackScores(packVerdict('digest', scores)?.split(' ')[1] ?? '', scores.length), scores);
      }),
    );
    assert.is(unpackScores(packVerdict('digest', SCORES)?.split(' ')[1] ?? '', 14), undefined);
    assert.is(packVerdict('digest', [0.005, ...SCORES.slice(1)]), undefined);
    const { state } = createWorld().join();
    const verdicts = state.verdicts(1000);
    const good = packVerdict('digest', SCORES)?.split(' ')[1] ?? '';
    for (const scores of [
      good.slice(2),
      `${good}00`,
      `65${good.slice(2)}`,
      `  ${good.slice(2)}`,
      good.toUpperCase(),
      '',
    ]) {
      state.onNotice({ kind: 'verdicts', verdicts: [`digest ${scores}`, 'digest', ''] });
      assert.is(await verdicts.find('digest', 13), undefined, scores);
    }
    state.onNotice({ kind: 'verdicts', verdicts: [`digest ${good}`] });
    assert.equal((await verdicts.find('digest', 13))?.scores, SCORES);
  });
});

describe('the policy file of several workers', (check) => {
  check('is what the first process has read of it, and no worker goes on without', async () => {
    const { clock, join } = createWorld();
    assert.is(await join().state.policyText(), '{"version":"1"}');
    const lost = join();
    lost.cut();
    const failed = lost.state.policyText().catch((error: unknown) => error);
    await settle();
    await clock.advance(10_000);
    assert.instance(await failed, ConfigError);
  });
});
