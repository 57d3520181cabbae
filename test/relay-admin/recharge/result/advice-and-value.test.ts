import * as assert from 'uvu/assert';
import { toRechargeResult } from '../../../../src/relay-admin/recharge/result.ts';
import type { CreditRow } from '../../../../src/relay-admin/relay/history.ts';
import { describe } from '../../../check.ts';
import { CASES, CLAIM, ROWS, row, SURE } from './world.ts';

describe('the value of a row', (check) => {
  const reasonAt = (balanceBefore: string, value: string) => {
    const view = { rows: [row(1, value)], balance: 1n };
    return toRechargeResult({ ...CLAIM, amount: '0.1', balanceBefore }, SURE, view).reason;
  };

  check('may be off by what doubles lose at large balances, as seen at 123456789.12', () => {
    for (const value of ['0.1', '0.10000001', '0.09999999']) assert.is(reasonAt('123456789.12', value), null, value);
    for (const value of ['0.1000001', '0.0999999', '0.2'])
      assert.is(reasonAt('123456789.12', value), 'history_value_differs', value);
  });

  check('is compared to the last digit below 16 million, where doubles lose nothing', () => {
    for (const before of ['0', '-5', '10', '16777215']) {
      assert.is(reasonAt(before, '0.1'), null);
      for (const value of ['0.10000001', '0.09999999'])
        assert.is(reasonAt(before, value), 'history_value_differs', `${before} ${value}`);
    }
    assert.is(reasonAt('16777216', '0.10000001'), null);
  });

  check('may be off where the recharge lifts the balance to 16 million', () => {
    assert.is(reasonAt('16777215.95', '0.10000001'), null);
    assert.is(reasonAt('16777215.85', '0.10000001'), 'history_value_differs');
  });
});

describe('the advice', (check) => {
  check('speaks of a confirmed credit where it is verified and nowhere else', () => {
    for (const { name, outputText, sight, reason } of CASES) {
      const { advice } = toRechargeResult(CLAIM, outputText, sight);
      assert.is(/^The relay confirmed the credit/.test(advice), reason === null, name);
      if (reason !== null) assert.match(advice, /Do not report it as done|Not a success/, name);
      assert.ok(advice.length <= 300);
    }
  });

  check('says whether the history holds a credit, where that does not settle it', () => {
    const adviceOn = (rows: readonly CreditRow[] | undefined) =>
      toRechargeResult(CLAIM, { ...SURE, isAccepted: false }, { rows, balance: 1n }).advice;
    assert.match(adviceOn(ROWS.one), /^The history holds a credit with this marker, but not everything confirms it\./);
    for (const rows of [ROWS.none, ROWS.unreadable])
      assert.match(adviceOn(rows), /^It is not known whether the credit was made\./);
  });

  check('says that the relay made the credit where it said so and only its row is missing', () => {
    const { advice } = toRechargeResult(CLAIM, SURE, { rows: [], balance: 1n });
    assert.match(advice, /^The relay answered that it made the credit, but its history does not show it\./);
    assert.not.match(advice, 'not known');
  });

  check('asks for a person at once where there are two credits', () => {
    for (const rows of [ROWS.two, ROWS.three])
      assert.match(toRechargeResult(CLAIM, SURE, { rows, balance: 1n }).advice, /more than one credit.+ask a person/);
  });

  check('never sends into another recharge, unless with the same pair', () => {
    for (const { outputText, sight } of CASES) {
      const { advice, reason } = toRechargeResult(CLAIM, outputText, sight);
      if (reason === null || reason === 'credited_more_than_once') continue;
      assert.match(advice, /do not recharge again/);
    }
  });
});
