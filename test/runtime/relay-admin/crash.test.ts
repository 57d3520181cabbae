import { appendFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { describe, thorough } from '../../check.ts';
import type { RelayAdminProcess, ToolResult } from './process.ts';
import { inWorld, keyNumber, previewed, type RelayAdminWorld, rechargesSeen, until } from './world.ts';

const ROUNDS = thorough(6, 30);
const LONGEST_LIFE_MS = 40;
const FAULTS = [undefined, 'drop-before', 'drop-after', 'late', 'stuck', 'slow'] as const;

type Pair = { readonly preview_token: string; readonly idempotency_key: string };
/** What the slower of two may say, too: it looked at the user while the other one's credit was on its way. */
const LATE = /^(?:PREVIEW_STALE|IDEMPOTENCY_CONFLICT|UNRESOLVED_RECHARGE): /;

/** Other faults meet other moments in each run. */
const SHIFT = Math.floor(Math.random() * ROUNDS);
/** At random, but one life in each part of the time: else all might end at the same stage. */
const lifeMsOf = (number: number, readMs: number): number =>
  (((number * 7 + SHIFT) % ROUNDS) + Math.random()) * (Math.max(LONGEST_LIFE_MS, 6 * readMs) / ROUNDS);

type Round = { readonly number: number; readonly pair: Pair; readonly start: () => RelayAdminProcess };

const pause = (ms: number): Promise<void> => new Promise((settle) => setTimeout(settle, ms));
const textOf = ({ content }: ToolResult): string => content[0]?.text ?? '';
const creditsOf = ({ control }: RelayAdminWorld, { idempotency_key }: Pair): number =>
  control.credits().filter(({ idempotencyKey }) => idempotencyKey === idempotency_key).length;
const sentOf = ({ control }: RelayAdminWorld, { idempotency_key }: Pair): number =>
  rechargesSeen(control).filter(({ headers }) => headers['idempotency-key'] === idempotency_key).length;

/** Holds what a process says against what the relay did. */
const assertTrue = (world: RelayAdminWorld, pair: Pair, answer: ToolResult, when: string): void => {
  const credits = creditsOf(world, pair);
  assert.ok(credits <= 1 && sentOf(world, pair) <= 1, `${when}: ${credits} credits, ${sentOf(world, pair)} sent`);
  if (answer.isError === true) {
    assert.match(textOf(answer), /^RECHARGE_(?:NOT_SENT|REFUSED): .* outcome=not_applied /, when);
    assert.is(credits, 0, when);
    return;
  }
  const { outcome, reason, history_rows, advice } = answer.structuredContent ?? {};
  if (outcome === 'verified') assert.equal([reason, credits, history_rows], [null, 1, 1], when);
  else {
    assert.is(outcome, 'accepted_unverified', when);
    assert.match(String(advice), 'do not recharge again', when);
    assert.ok(Number(history_rows) <= credits, when);
  }
};

/** One life cut short at any moment, and what the next ones make of it. */
const killedOnce = async (
  world: RelayAdminWorld,
  { number, pair, start }: Round,
  admin: RelayAdminProcess,
): Promise<string> => {
  const fault = FAULTS[number % FAULTS.length];
  // On a busy machine each request takes longer, and a life has to.
  const startedAt = performance.now();
  await admin.call('read', { path: 'users' });
  const lifeMs = lifeMsOf(number, performance.now() - startedAt);
  const when = `round ${number}, ${fault}, killed after ${lifeMs.toFixed(1)} ms`;
  const { control } = world;
  if (fault !== undefined) control.useFault(fault);
  control.setDelayMs(15);
  const known = admin.call('recharge', pair).catch(() => undefined);
  await pause(lifeMs);
  await admin.kill();
  const first = await known;
  control.clearFaults();
  if (first !== undefined) assertTrue(world, pair, first, `${when}, before`);
  const sentBefore = sentOf(world, pair);

  const second = await start().call('recharge', pair);
  assertTrue(world, pair, second, `${when}, after`);
  if (first?.structuredContent?.outcome === 'verified')
    assert.is(second.structuredContent?.outcome, 'verified', `${when}: what was verified stays so`);
  // The one that died may have sent it without having been heard of yet.
  await pause(40);
  const last = start();
  const third = await last.call('recharge', pair);
  assertTrue(world, pair, third, `${when}, at last`);
  const isCredited = creditsOf(world, pair) === 1;
  if (!third.isError) assert.is(third.structuredContent?.history_rows, isCredited ? 1 : 0, when);
  const later = await last.call('recharge', { ...pair, idempotency_key: `${pair.idempotency_key}-other` });
  assert.match(textOf(later), /^IDEMPOTENCY_CONFLICT: /, when);
  return first !== undefined ? 'answered' : sentBefore > 0 ? 'sent' : 'not sent';
};

describe('killing the relay admin bundle', (check) => {
  check(
    `at ${ROUNDS} moments around a recharge never credits twice, and never lets the next process say what is not so`,
    inWorld(async (world) => {
      const tally: Record<string, number> = {};
      for (let number = 0; number < ROUNDS; number++) {
        // A journal for each round: a doubt about one recharge would keep the next from being sent.
        const variables = {
          RELAY_JOURNAL: join(world.directory, `journal-${number}`),
          RELAY_TIMEOUT_MS: '3000',
          LOG_LEVEL: 'error',
        };
        const started: RelayAdminProcess[] = [];
        const start = () => {
          const admin = world.start({ variables });
          started.push(admin);
          return admin;
        };
        const admin = start();
        const pair = { preview_token: await previewed(admin, 2, '0.01'), idempotency_key: keyNumber(number) };
        const moment = await killedOnce(world, { number, pair, start }, admin);
        tally[moment] = (tally[moment] ?? 0) + 1;
        await Promise.all(started.map((one) => one.kill()));
      }
      assert.ok(Object.keys(tally).length > 1, `every life ended at the same stage: ${JSON.stringify(tally)}`);
    }),
  );

  check(
    'does not make the journal useless when it was killed in the middle of a line',
    inWorld(async (world) => {
      const admin = world.start();
      const pair = { preview_token: await previewed(admin, 2, '1'), idempotency_key: keyNumber(1) };
      await admin.kill();
      appendFileSync(world.journal, '{"kind":"claim","at":17952');
      const recharged = await world.start().call('recharge', pair);
      assert.is(recharged.structuredContent?.outcome, 'verified');
      const recalled = await world.start().call('recharge', pair);
      assert.is(recalled.structuredContent?.replayed, true);
      assert.is(rechargesSeen(world.control).length, 1);
      assert.is(statSync(world.journal).mode & 0o777, 0o600);
    }),
  );
});

describe('two relay admin processes over one journal', (check) => {
  const RACES = thorough(1, 8);
  /** Two processes that are up, and so begin at the same moment. */
  const two = async ({ start }: RelayAdminWorld): Promise<readonly [RelayAdminProcess, RelayAdminProcess]> => {
    const both = [start(), start()] as const;
    await Promise.all(both.map((admin) => admin.initialize()));
    return both;
  };

  check(
    'that are given one pair send it once, and from then on both report that outcome',
    inWorld(async (world) => {
      const both = await two(world);
      for (let race = 0; race < RACES; race++) {
        const pair = { preview_token: await previewed(both[0], 2, '1'), idempotency_key: keyNumber(race) };
        const answers = await Promise.all(both.map((admin) => admin.call('recharge', pair)));
        assert.equal([sentOf(world, pair), creditsOf(world, pair)], [1, 1]);
        for (const answer of answers) if (!LATE.test(textOf(answer))) assertTrue(world, pair, answer, `race ${race}`);
        assert.is(answers.filter(({ structuredContent }) => structuredContent?.replayed === false).length, 1);
        for (const admin of both) {
          const recalled = await admin.call('recharge', pair);
          assert.equal([recalled.structuredContent?.outcome, recalled.structuredContent?.replayed], ['verified', true]);
        }
      }
    }),
  );

  check(
    'that are given one token and a key each send one, and the other says that the token is used',
    inWorld(async (world) => {
      const both = await two(world);
      for (let race = 0; race < RACES; race++) {
        const preview_token = await previewed(both[0], 2, '1');
        const pairs = [0, 1].map((which) => ({ preview_token, idempotency_key: keyNumber(race * 2 + which) }));
        const answers = await Promise.all(both.map((admin, which) => admin.call('recharge', pairs[which] ?? {})));
        assert.is(
          pairs.reduce((sum, pair) => sum + sentOf(world, pair), 0),
          1,
          `race ${race}`,
        );
        assert.is(answers.filter(({ structuredContent }) => structuredContent?.outcome === 'verified').length, 1);
        const refused = answers.filter(({ isError }) => isError === true).map(textOf);
        assert.equal([refused.length, refused.filter((text) => !LATE.test(text))], [1, []]);
      }
      assert.is(world.control.credits().length, RACES);
    }),
  );

  check(
    'that are given one key and a token each send one',
    inWorld(async (world) => {
      const both = await two(world);
      for (let race = 0; race < RACES; race++) {
        const tokens = [await previewed(both[0], 2, '1'), await previewed(both[1], 2, '1')];
        const idempotency_key = keyNumber(race);
        const answers = await Promise.all(
          both.map((admin, which) => admin.call('recharge', { preview_token: tokens[which], idempotency_key })),
        );
        assert.is(rechargesSeen(world.control).length, race + 1);
        assert.is(answers.filter(({ isError }) => isError === true).length, 1);
      }
      assert.is(world.control.credits().length, RACES);
    }),
  );

  check(
    'that start at once in a directory without a journal make tokens that the other one takes',
    inWorld(async (world) => {
      const both = [world.start(), world.start()] as const;
      const tokens = await Promise.all([previewed(both[0], 2, '1'), previewed(both[1], 4, '1')]);
      const crossed = await Promise.all([
        both[1].call('recharge', { preview_token: tokens[0], idempotency_key: keyNumber(1) }),
        both[0].call('recharge', { preview_token: tokens[1], idempotency_key: keyNumber(2) }),
      ]);
      for (const { structuredContent } of crossed) assert.is(structuredContent?.outcome, 'verified');
      await until('both are told', () => world.control.credits().length === 2);
    }),
  );
});
