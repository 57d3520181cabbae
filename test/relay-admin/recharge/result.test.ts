import * as assert from 'uvu/assert';
import * as v from 'valibot';
import { parseUnits } from '../../../src/relay-admin/money.ts';
import type { ClaimEntry } from '../../../src/relay-admin/recharge/journal.ts';
import {
  type CreditView,
  NOTHING_READ,
  type Reason,
  RechargeResult,
  type RelayAnswer,
  toRechargeResult,
} from '../../../src/relay-admin/recharge/result.ts';
import type { CreditRow } from '../../../src/relay-admin/relay/history.ts';
import { UNKNOWN_REASONS } from '../../../src/relay-admin/relay/response.ts';
import { describe } from '../../check.ts';

const AT = Date.UTC(2026, 0, 1);
const CLAIM: ClaimEntry = {
  kind: 'claim',
  at: AT,
  by: 'x',
  token: 'a'.repeat(64),
  key: 'b'.repeat(64),
  marker: 'rc_0123456789abcdef',
  userId: 7,
  amount: '12.5',
  balanceBefore: '10',
};
const units = (text: string): bigint => {
  const found = parseUnits(text);
  if (found === undefined) throw new Error(`No amount: ${text}`);
  return found;
};
const row = (id: number, value = '12.5', usedAt: string | null = '2026-01-01T00:00:00Z'): CreditRow => ({
  id,
  value: units(value),
  usedAt,
});

const ROWS: Readonly<Record<string, readonly CreditRow[] | undefined>> = {
  unreadable: undefined,
  none: [],
  one: [row(1)],
  other: [row(1, '12.50000001')],
  two: [row(2), row(1)],
  twoOthers: [row(2, '1'), row(1, '12.5')],
  three: [row(3), row(2), row(1)],
};
const BALANCES: Readonly<Record<string, bigint | undefined>> = { unreadable: undefined, read: units('22.5') };

/** Why a recharge that the relay accepted is not verified, by what was seen of the history and of the user. */
const ACCEPTED: Readonly<Record<string, Readonly<Record<string, Reason | null>>>> = {
  unreadable: { unreadable: 'history_unreadable', read: 'history_unreadable' },
  none: { unreadable: 'history_row_missing', read: 'history_row_missing' },
  one: { unreadable: 'user_unreadable', read: null },
  other: { unreadable: 'history_value_differs', read: 'history_value_differs' },
  two: { unreadable: 'credited_more_than_once', read: 'credited_more_than_once' },
  twoOthers: { unreadable: 'credited_more_than_once', read: 'credited_more_than_once' },
  three: { unreadable: 'credited_more_than_once', read: 'credited_more_than_once' },
};
const DOUBT_WORDS: { readonly [Doubt in RelayAnswer['unknownReason']]: Reason } = {
  'no-answer': 'no_answer',
  'timed-out': 'timed_out',
  redirected: 'redirected',
  'server-error': 'server_error',
  'unusable-answer': 'unusable_answer',
  'in-progress': 'in_progress',
  'retry-backoff': 'retry_backoff',
  'store-unavailable': 'store_unavailable',
  refused: 'refusal_unconfirmed',
  'answer-not-recorded': 'answer_not_recorded',
};
const ALL_DOUBTS: readonly RelayAnswer['unknownReason'][] = [...UNKNOWN_REASONS, 'refused', 'answer-not-recorded'];

type Case = {
  readonly name: string;
  readonly outputText: RelayAnswer;
  readonly sight: CreditView;
  readonly reason: Reason | null;
};
const CASES: readonly Case[] = Object.entries(ROWS).flatMap(([seen, rows]) =>
  Object.entries(BALANCES).flatMap(([user, balance]) =>
    ALL_DOUBTS.flatMap((doubt) =>
      [false, true].flatMap((isAccepted) =>
        [false, true].map((isRelayReplay) => ({
          name: `${isAccepted ? 'accepted' : doubt}, history ${seen}, user ${user}`,
          outputText: { isAccepted, isRelayReplay, unknownReason: doubt },
          sight: { rows, balance },
          reason: isAccepted || (rows?.length ?? 0) > 1 ? (ACCEPTED[seen]?.[user] ?? null) : DOUBT_WORDS[doubt],
        })),
      ),
    ),
  ),
);
const SURE: RelayAnswer = { isAccepted: true, isRelayReplay: false, unknownReason: 'no-answer' };

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
