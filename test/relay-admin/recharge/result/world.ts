import { parseUnits } from '../../../../src/relay-admin/money.ts';
import type { ClaimEntry } from '../../../../src/relay-admin/recharge/journal.ts';
import type { CreditView, Reason, RelayAnswer } from '../../../../src/relay-admin/recharge/result.ts';
import type { CreditRow } from '../../../../src/relay-admin/relay/history.ts';
import { UNKNOWN_REASONS } from '../../../../src/relay-admin/relay/response.ts';

const AT = Date.UTC(2026, 0, 1);
/** A claim of 12.5 for user 7. */
export const CLAIM: ClaimEntry = {
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
/** An amount in units of 1e-8. */
export const units = (text: string): bigint => {
  const found = parseUnits(text);
  if (found === undefined) throw new Error(`No amount: ${text}`);
  return found;
};
/** A row of a credit in the history. */
export const row = (id: number, value = '12.5', usedAt: string | null = '2026-01-01T00:00:00Z'): CreditRow => ({
  id,
  value: units(value),
  usedAt,
});

/** What the history may show of the credits with the marker. */
export const ROWS: Readonly<Record<string, readonly CreditRow[] | undefined>> = {
  unreadable: undefined,
  none: [],
  one: [row(1)],
  other: [row(1, '12.50000001')],
  two: [row(2), row(1)],
  twoOthers: [row(2, '1'), row(1, '12.5')],
  three: [row(3), row(2), row(1)],
};
/** What the user may show of the balance. */
export const BALANCES: Readonly<Record<string, bigint | undefined>> = { unreadable: undefined, read: units('22.5') };

/** Why a recharge that the relay accepted is not verified, by what was seen of the history and of the user. */
export const ACCEPTED: Readonly<Record<string, Readonly<Record<string, Reason | null>>>> = {
  unreadable: { unreadable: 'history_unreadable', read: 'history_unreadable' },
  none: { unreadable: 'history_row_missing', read: 'history_row_missing' },
  one: { unreadable: 'user_unreadable', read: null },
  other: { unreadable: 'history_value_differs', read: 'history_value_differs' },
  two: { unreadable: 'credited_more_than_once', read: 'credited_more_than_once' },
  twoOthers: { unreadable: 'credited_more_than_once', read: 'credited_more_than_once' },
  three: { unreadable: 'credited_more_than_once', read: 'credited_more_than_once' },
};
/** The reason in a result for each doubt that an answer leaves. */
export const DOUBT_WORDS: { readonly [Doubt in RelayAnswer['unknownReason']]: Reason } = {
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
/** Every doubt that an answer can leave. */
export const ALL_DOUBTS: readonly RelayAnswer['unknownReason'][] = [
  ...UNKNOWN_REASONS,
  'refused',
  'answer-not-recorded',
];

type Case = {
  readonly name: string;
  readonly outputText: RelayAnswer;
  readonly sight: CreditView;
  readonly reason: Reason | null;
};
/** Every answer with everything that can be seen afterwards, and the reason that the result must have. */
export const CASES: readonly Case[] = Object.entries(ROWS).flatMap(([seen, rows]) =>
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
/** An answer that the relay carried the credit out. */
export const SURE: RelayAnswer = { isAccepted: true, isRelayReplay: false, unknownReason: 'no-answer' };
