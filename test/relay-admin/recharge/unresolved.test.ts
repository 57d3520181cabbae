import * as assert from 'uvu/assert';
import { RelayError } from '../../../src/relay-admin/errors/errors.ts';
import { parseFormatted } from '../../../src/relay-admin/money.ts';
import { createJournal, type SettlementEntry } from '../../../src/relay-admin/recharge/journal.ts';

import { findUnresolved } from '../../../src/relay-admin/recharge/unresolved.ts';
import { describe, rejection } from '../../check.ts';
import { createFakeClock } from '../../fake-clock.ts';
import { createScriptedRelay, historyRow } from '../harness/scripted-relay.ts';
import { createIds, createMemoryFile } from '../harness/world.ts';

const NEVER = new AbortController().signal;
const SETTLES_MS = 120_000;
const WEEK_MS = 7 * 24 * 3_600_000;

const units = (text: string): bigint => parseFormatted(text) ?? 0n;
const markerOf = (index: number): string => `rc_${String(index).padStart(16, '0')}`;

/** Recharges of user 7 that were sent so many milliseconds ago, of which the history holds those in `credited`. */
const doubtWorld = async (
  agesMs: readonly number[],
  credited: readonly number[] = [],
  { before = agesMs.map(() => '10'), present = units('10') }: { before?: readonly string[]; present?: bigint } = {},
) => {
  const clock = createFakeClock();
  const now = clock.now();
  const journal = createJournal(createMemoryFile().open(), createIds());
  const bys: string[] = [];
  for (const [index, ageMs] of agesMs.entries()) {
    const hash = (letter: string) => letter + String(index).padStart(63, '0');
    const { claim } = await journal.claim({
      at: now - ageMs,
      token: hash('a'),
      key: hash('b'),
      marker: markerOf(index),
      userId: 7,
      amount: `${index + 1}.5`,
      balanceBefore: before[index] ?? '10',
    });
    bys.push(claim.by);
  }
  const items = credited.map((index) => historyRow(index, { notes: `recharge ${markerOf(index)}` }));
  const { relay, reads } = createScriptedRelay(() => ({ items, total: items.length }));
  const settle = (index: number, more: Partial<SettlementEntry>) =>
    journal.settle({ at: now, by: bys[index] ?? '', state: 'accepted_unverified', isAccepted: false, ...more });
  return {
    look: (userId = 7, signal = NEVER) =>
      findUnresolved({ relay, journal, clock }, { id: userId, balance: present }, signal),
    reads,
    settle,
    now,
  };
};
const problemOf = async (promise: Promise<unknown>) => {
  const error = await rejection(promise);
  assert.instance(error, RelayError);
  return (error as RelayError).detail;
};

describe('earlier recharges in doubt', (check) => {
  check('are none when there are none, and then nothing is asked', async () => {
    const { look, reads } = await doubtWorld([]);
    assert.equal(await look(), []);
    assert.is(reads.length, 0);
  });

  check('of another user are none', async () => {
    const { look, reads } = await doubtWorld([1000]);
    assert.equal(await look(8), []);
    assert.is(reads.length, 0);
  });

  check('are reported with their amount and time, and whether the history holds them by now', async () => {
    const { look, now } = await doubtWorld([3_600_000, 600_000], [1]);
    assert.equal(await look(), [
      {
        reference: markerOf(0),
        amount: '1.5',
        sentAt: new Date(now - 3_600_000).toISOString(),
        balanceBefore: '10',
        balanceChange: '0',
        creditSign: null,
      },
      {
        reference: markerOf(1),
        amount: '2.5',
        sentAt: new Date(now - 600_000).toISOString(),
        balanceBefore: '10',
        balanceChange: '0',
        creditSign: 'history_row',
      },
    ]);
  });

  check('end with an answer that clears them up', async () => {
    for (const settled of [
      { state: 'verified', isAccepted: true },
      { state: 'not_applied', status: 429, isProven: true },
    ] as const) {
      const { look, settle, reads } = await doubtWorld([600_000]);
      await settle(0, settled);
      assert.equal(await look(), []);
      assert.is(reads.length, 0);
    }
    const { look, settle } = await doubtWorld([600_000]);
    await settle(0, { doubt: 'no-answer' });
    assert.is((await look()).length, 1);
  });

  check('that the relay said it made count as made, also without a row, and at once', async () => {
    const { look, settle } = await doubtWorld([0]);
    await settle(0, { isAccepted: true });
    assert.equal(
      (await look()).map(({ creditSign }) => creditSign),
      ['relay_said_so'],
    );
  });

  check('show what the balance did until the next recharge, and whether that is exactly the amount', async () => {
    const ages = [900_000, 800_000, 700_000];
    const changes = async (before: readonly string[], present: string) =>
      (await (await doubtWorld(ages, [], { before, present: units(present) })).look()).map((one) => [
        one.balanceChange,
        one.creditSign,
      ]);
    // 1.5, 2.5 and 3.5 were sent. Each is measured up to the next, the last up to now.
    assert.equal(await changes(['10', '11.5', '11.5'], '15'), [
      ['1.5', 'balance_rose'],
      ['0', null],
      ['3.5', 'balance_rose'],
    ]);
    assert.equal(await changes(['10', '11.49999999', '14'], '13'), [
      ['1.49999999', null],
      ['2.50000001', null],
      ['-1', null],
    ]);
    assert.equal(await changes(['-0.5', '1', '1'], '1'), [
      ['1.5', 'balance_rose'],
      ['0', null],
      ['0', null],
    ]);
  });

  check('know the rise that was read right after sending, whatever usage did since', async () => {
    const { look, settle } = await doubtWorld([600_000], [], { present: units('3') });
    await settle(0, { doubt: 'no-answer', result: { balance_after: '11.5' } });
    assert.equal(
      (await look()).map(({ balanceChange, creditSign }) => [balanceChange, creditSign]),
      [['1.5', 'balance_rose']],
    );
  });

  check('compare as exactly as the relay can, which is less at large balances', async () => {
    const at = async (before: string, present: bigint) =>
      (await (await doubtWorld([600_000], [], { before: [before], present })).look())[0]?.creditSign;
    const [small, large] = [1_000_000_000n, 12_345_678_912_000_000n];
    assert.is(await at('10', small + 150_000_000n), 'balance_rose');
    assert.is(await at('10', small + 150_000_001n), null);
    assert.is(await at('123456789.12', large + 150_000_001n), 'balance_rose');
    assert.is(await at('123456789.12', large + 150_000_010n), null);
  });

  check('compare as exactly as the relay could after the recharge, also where usage took it all by now', async () => {
    const after = async (before: string, balance: string) => {
      const { look, settle } = await doubtWorld([600_000], [], { before: [before], present: units('3') });
      await settle(0, { doubt: 'no-answer', result: { balance_after: balance } });
      return (await look())[0]?.creditSign;
    };
    assert.is(await after('16777215', '16777216.50000001'), 'balance_rose');
    assert.is(await after('16777213', '16777214.50000001'), null);
  });

  check('that are young stop everything, also after a rise: somebody else may have paid', async () => {
    const { look } = await doubtWorld([1000], [], { present: units('11.5') });
    assert.is((await problemOf(look())).kind, 'unresolved-recharge');
  });

  check('that are too young to be sure of stop everything, and say for how long', async () => {
    for (const [ageMs, retryAfterMs] of [
      [0, SETTLES_MS],
      [1, SETTLES_MS - 1],
      [SETTLES_MS - 1, 1],
    ] as const) {
      const { look } = await doubtWorld([ageMs]);
      assert.equal(await problemOf(look()), { kind: 'unresolved-recharge', retryAfterMs, reference: markerOf(0) });
    }
  });

  check('that are old enough stop nothing', async () => {
    for (const ageMs of [SETTLES_MS, SETTLES_MS + 1]) {
      const { look } = await doubtWorld([ageMs]);
      assert.equal(
        (await look()).map(({ creditSign }) => creditSign),
        [null],
      );
    }
  });

  check('that are young stop nothing once the history holds them', async () => {
    const { look } = await doubtWorld([1000], [0]);
    assert.equal(
      (await look()).map(({ creditSign }) => creditSign),
      ['history_row'],
    );
  });

  check('stop everything for the one that is too young, among others that are not', async () => {
    const { look } = await doubtWorld([600_000, 500_000, 1000], [0]);
    assert.equal(await problemOf(look()), {
      kind: 'unresolved-recharge',
      retryAfterMs: SETTLES_MS - 1000,
      reference: markerOf(2),
    });
  });

  check('from a clock that ran ahead stop everything', async () => {
    const { look } = await doubtWorld([-5000]);
    assert.equal(await problemOf(look()), {
      kind: 'unresolved-recharge',
      retryAfterMs: SETTLES_MS + 5000,
      reference: markerOf(0),
    });
  });

  check('are remembered for a week', async () => {
    assert.is((await (await doubtWorld([WEEK_MS - 1])).look()).length, 1);
    for (const ageMs of [WEEK_MS, WEEK_MS + 1]) {
      const { look, reads } = await doubtWorld([ageMs]);
      assert.equal(await look(), []);
      assert.is(reads.length, 0);
    }
  });

  check('are the latest five, and one look at the history is enough for them', async () => {
    const { look, reads } = await doubtWorld(
      [9, 8, 7, 6, 5, 4, 3].map((minutes) => minutes * 60_000),
      [6],
    );
    const doubts = await look();
    assert.equal(
      doubts.map(({ reference, creditSign }) => [reference, creditSign]),
      [2, 3, 4, 5, 6].map((index) => [markerOf(index), index === 6 ? 'history_row' : null]),
    );
    assert.is(reads.length, 1);
  });

  check('pass on the problem of a history that cannot be read', async () => {
    const { journal, clock } = {
      journal: createJournal(createMemoryFile().open(), createIds()),
      clock: createFakeClock(),
    };
    await journal.claim({
      at: clock.now() - 600_000,
      token: 'a'.repeat(64),
      key: 'b'.repeat(64),
      marker: markerOf(0),
      userId: 7,
      amount: '1',
      balanceBefore: '0',
    });
    const { relay } = createScriptedRelay(() => ({ items: 'x' }));
    assert.equal(await problemOf(findUnresolved({ relay, journal, clock }, { id: 7, balance: 0n }, NEVER)), {
      kind: 'upstream-contract',
      why: 'unexpected-shape',
    });
  });

  check('are not looked for once the caller has left', async () => {
    const { look } = await doubtWorld([600_000]);
    const reason = new Error('left');
    assert.is(await rejection(look(7, AbortSignal.abort(reason))), reason);
  });
});
