import * as assert from 'uvu/assert';
import * as v from 'valibot';
import type { ClaimEntry } from '../../../../src/relay-admin/recharge/journal.ts';
import { NOTHING_READ, RechargeResult, toRechargeResult } from '../../../../src/relay-admin/recharge/result.ts';
import type { CreditRow } from '../../../../src/relay-admin/relay/history.ts';
import { describe } from '../../../check.ts';
import { ACCEPTED, ALL_DOUBTS, BALANCES, CASES, CLAIM, DOUBT_WORDS, ROWS, row, SURE, units } from './world.ts';

describe('the result of a recharge', (check) => {
  check('has a reason for every doubt that an answer can leave', () => {
    assert.equal(Object.keys(DOUBT_WORDS).sort(), [...ALL_DOUBTS].sort());
    assert.is(new Set(Object.values(DOUBT_WORDS)).size, ALL_DOUBTS.length);
  });

  for (const [seen, byUser] of Object.entries(ACCEPTED)) {
    check(`with a history that is ${seen} has the reason that it has to have`, () => {
      for (const { name, outputText, sight, reason } of CASES.filter((one) => one.sight.rows === ROWS[seen])) {
        const result = toRechargeResult(CLAIM, outputText, sight);
        assert.is(result.reason, reason, name);
        assert.is(result.outcome, reason === null ? 'verified' : 'accepted_unverified', name);
      }
      assert.is(Object.keys(byUser).length, 2);
    });
  }

  check('is verified in one case alone: accepted, one row, of this value, and the user read again', () => {
    const verified = CASES.filter(
      ({ outputText, sight }) => toRechargeResult(CLAIM, outputText, sight).outcome === 'verified',
    );
    // Whatever doubt is named beside an acceptance, and whether the relay repeated itself.
    assert.is(verified.length, ALL_DOUBTS.length * 2);
    for (const { outputText, sight } of verified) {
      assert.ok(outputText.isAccepted);
      assert.is(sight.rows, ROWS.one);
      assert.is(sight.balance, BALANCES.read);
    }
  });

  check('is of the shape that the tool promises, whatever was said and seen', () => {
    for (const { name, outputText, sight } of CASES) {
      const result = toRechargeResult(CLAIM, outputText, sight);
      assert.ok(v.is(RechargeResult, result), name);
      assert.equal(JSON.parse(JSON.stringify(result)), result, name);
    }
  });

  check('is of that shape before anything was seen, whatever the claim', () => {
    const claims: readonly ClaimEntry[] = [
      CLAIM,
      { ...CLAIM, amount: '1000000', balanceBefore: '-0.00000001', userId: Number.MAX_SAFE_INTEGER },
      { ...CLAIM, at: 0 },
      { ...CLAIM, at: 8.64e15 },
      { ...CLAIM, amount: 'not an amount', balanceBefore: '' },
    ];
    for (const claim of claims) {
      for (const doubt of ALL_DOUBTS) {
        const result = toRechargeResult(
          claim,
          { isAccepted: false, isRelayReplay: false, unknownReason: doubt },
          NOTHING_READ,
        );
        assert.ok(v.is(RechargeResult, result));
        assert.equal(
          [result.outcome, result.reason, result.history_rows, result.history_row, result.balance_after],
          ['accepted_unverified', DOUBT_WORDS[doubt], 0, null, null],
        );
      }
    }
  });

  check('reports the claim as it was made, and what was seen', () => {
    assert.equal(
      toRechargeResult(CLAIM, { ...SURE, isRelayReplay: true }, { rows: [row(5)], balance: units('22.4') }),
      {
        outcome: 'verified',
        reason: null,
        advice: 'The relay confirmed the credit, and its history holds it.',
        user_id: 7,
        amount: '12.5',
        balance_before: '10',
        balance_after: '22.4',
        balance_moved_otherwise: true,
        marker: 'rc_0123456789abcdef',
        history_row: { id: 5, value: '12.5', used_at: '2026-01-01T00:00:00Z' },
        history_rows: 1,
        sent_at: '2026-01-01T00:00:00.000Z',
        replayed: false,
        relay_replayed: true,
      },
    );
  });

  check('does not want the balance to have risen by just the amount: usage moves it', () => {
    for (const [balance, movedOtherwise] of [
      ['22.5', false],
      ['22.49999999', true],
      ['22.50000001', true],
      ['0', true],
      ['100', true],
    ] as const) {
      const result = toRechargeResult(CLAIM, SURE, { rows: [row(1)], balance: units(balance) });
      assert.equal([result.outcome, result.balance_moved_otherwise], ['verified', movedOtherwise], balance);
    }
    assert.is(toRechargeResult(CLAIM, SURE, { rows: [row(1)], balance: -5n }).balance_after, '-0.00000005');
  });

  check('says nothing of the balance that it cannot know', () => {
    assert.is(toRechargeResult(CLAIM, SURE, { rows: [], balance: 1n }).balance_moved_otherwise, null);
    assert.is(toRechargeResult(CLAIM, SURE, { rows: [row(1)], balance: undefined }).balance_moved_otherwise, null);
    assert.is(toRechargeResult(CLAIM, SURE, { rows: undefined, balance: 1n }).history_rows, 0);
  });

  check('compares values to the last digit and whatever its way of writing', () => {
    const outcomeOf = (amount: string, value: string) =>
      toRechargeResult({ ...CLAIM, amount }, SURE, { rows: [row(1, value)], balance: 1n }).outcome;
    assert.is(outcomeOf('12.50', '12.5'), 'verified');
    assert.is(outcomeOf('0.00000001', '0.00000001'), 'verified');
    assert.is(outcomeOf('0.00000001', '0.00000002'), 'accepted_unverified');
    assert.is(outcomeOf('1000000', '999999.99999999'), 'accepted_unverified');
    const taken: CreditRow = { id: 1, value: -units('12.5'), usedAt: null };
    assert.is(toRechargeResult(CLAIM, SURE, { rows: [taken], balance: 1n }).reason, 'history_value_differs');
  });
});
