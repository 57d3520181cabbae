import * as assert from 'uvu/assert';
import { createJournal } from '../../../../src/relay-admin/recharge/journal.ts';
import { findUnresolved } from '../../../../src/relay-admin/recharge/unresolved.ts';
import { describe, rejection } from '../../../check.ts';
import { createFakeClock } from '../../../fake-clock.ts';
import { createScriptedRelay } from '../../harness/scripted-relay.ts';
import { createIds, createMemoryFile } from '../../harness/world.ts';
import { doubtWorld, markerOf, NEVER, problemOf, units } from './world.ts';

describe('earlier recharges in doubt', (check) => {
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
      { state: 'not_applied', status: 429 },
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
