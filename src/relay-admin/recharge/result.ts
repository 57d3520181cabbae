import * as v from 'valibot';
import { formatUnits, isSameAmount, largestSize, parseFormatted, parseUnits, type Units } from '../money.ts';
import type { CreditRow } from '../relay/history.ts';
import type { UnknownReason } from '../relay/response.ts';
import type { ClaimEntry } from './journal.ts';

/** Why a recharge is not verified. */
const REASONS = [
  'no_answer',
  'timed_out',
  'redirected',
  'server_error',
  'unusable_answer',
  'in_progress',
  'retry_backoff',
  'store_unavailable',
  'refusal_unconfirmed',
  'answer_not_recorded',
  'history_unreadable',
  'history_row_missing',
  'history_value_differs',
  'credited_more_than_once',
  'user_unreadable',
] as const;
export type Reason = (typeof REASONS)[number];

const Decimal = v.pipe(v.string(), v.description('decimal string'));

/** The result of `recharge`. Its only text from the relay is the time of the history row. */
export const RechargeResult = v.strictObject({
  outcome: v.pipe(
    v.picklist(['verified', 'accepted_unverified']),
    v.description('accepted_unverified is not success and is not to be reported as one'),
  ),
  reason: v.pipe(v.nullable(v.picklist(REASONS)), v.description('why it is not verified; null when it is')),
  advice: v.string(),
  user_id: v.number(),
  amount: Decimal,
  balance_before: Decimal,
  balance_after: v.pipe(v.nullable(v.string()), v.description('as read afterwards; usage may have moved it meanwhile')),
  balance_moved_otherwise: v.pipe(
    v.nullable(v.boolean()),
    v.description('whether the balance moved by something else than this amount in between'),
  ),
  marker: v.pipe(v.string(), v.description('stands in the notes of the credit in the balance history')),
  history_row: v.nullable(v.strictObject({ id: v.number(), value: v.string(), used_at: v.nullable(v.string()) })),
  history_rows: v.pipe(
    v.number(),
    v.description('credits in the history with this marker; more than 1 needs a person'),
  ),
  sent_at: v.string(),
  replayed: v.pipe(v.boolean(), v.description('true: this call sent nothing, an earlier one did')),
  relay_replayed: v.pipe(v.boolean(), v.description('true: the relay repeated an earlier answer to this key')),
});
export type RechargeResult = v.InferOutput<typeof RechargeResult>;

/** What the relay answered to the recharge itself. */
export type RelayAnswer = {
  readonly isAccepted: boolean;
  readonly isRelayReplay: boolean;
  /** Why the answer leaves the outcome unknown. Has no meaning when `isAccepted`. */
  readonly unknownReason: UnknownReason | 'refused' | 'answer-not-recorded';
  /** The status of a refusal. */
  readonly refusedStatus?: number | undefined;
};

/** What was read back from the relay; `undefined` where that failed. */
export type CreditView = { readonly rows: readonly CreditRow[] | undefined; readonly balance: Units | undefined };

/** The view before anything was read. */
export const NOTHING_READ: CreditView = { rows: undefined, balance: undefined };

const REASON_BY_UNKNOWN: { readonly [Word in RelayAnswer['unknownReason']]: Reason } = {
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

/** The recharge in units, with the largest balance around it: the relay's own sums are less exact at large ones. */
type Sums = { readonly amount: Units; readonly before: Units; readonly largest: Units };

const toSums = (claim: ClaimEntry, { balance = 0n }: CreditView): Sums => {
  const amount = parseUnits(claim.amount) ?? 0n;
  const before = parseFormatted(claim.balanceBefore) ?? 0n;
  return { amount, before, largest: largestSize(before, before + amount, balance) };
};

const toReason = (
  { amount, largest }: Sums,
  { isAccepted, unknownReason: doubt }: RelayAnswer,
  { rows, balance }: CreditView,
): Reason | null => {
  // Two credits with one marker: this counts more than any other reason.
  if (rows !== undefined && rows.length > 1) return 'credited_more_than_once';
  if (!isAccepted) return REASON_BY_UNKNOWN[doubt];
  if (rows === undefined) return 'history_unreadable';
  const [row] = rows;
  if (row === undefined) return 'history_row_missing';
  if (!isSameAmount(row.value, amount, largest)) return 'history_value_differs';
  return balance === undefined ? 'user_unreadable' : null;
};

const LOOK_AGAIN =
  'Do not report it as done and do not recharge again; look for the marker in the balance history, or call recharge with the same preview_token and idempotency_key to look again.';

const adviceFor = (reason: Reason | null, rows: number, { isAccepted, refusedStatus }: RelayAnswer): string => {
  if (reason === null) return 'The relay confirmed the credit, and its history holds it.';
  if (reason === 'credited_more_than_once')
    return 'The history holds more than one credit with this marker. Not a success: ask a person to look at once.';
  if (rows === 1)
    return 'The history holds a credit with this marker, but not everything confirms it. Do not report it as done and do not recharge again; ask a person to look.';
  if (isAccepted) return `The relay answered that it made the credit, but its history does not show it. ${LOOK_AGAIN}`;
  const what =
    reason === 'refusal_unconfirmed'
      ? `The relay refused with status ${refusedStatus ?? 'unknown'}, but may have credited before.`
      : 'It is not known whether the credit was made.';
  return `${what} ${LOOK_AGAIN} No row there does not prove that nothing was credited.`;
};

/** The result for a claim that was sent. Never throws. It is also built once before sending, to check that it is valid. */
export const toRechargeResult = (claim: ClaimEntry, answer: RelayAnswer, view: CreditView): RechargeResult => {
  const sums = toSums(claim, view);
  const reason = toReason(sums, answer, view);
  const { rows = [], balance } = view;
  const [row] = rows;
  return {
    outcome: reason === null ? 'verified' : 'accepted_unverified',
    reason,
    advice: adviceFor(reason, rows.length, answer),
    user_id: claim.userId,
    amount: claim.amount,
    balance_before: claim.balanceBefore,
    balance_after: balance === undefined ? null : formatUnits(balance),
    balance_moved_otherwise:
      balance === undefined || row === undefined ? null : !isSameAmount(balance - sums.before, row.value, sums.largest),
    marker: claim.marker,
    history_row: row === undefined ? null : { id: row.id, value: formatUnits(row.value), used_at: row.usedAt },
    history_rows: rows.length,
    sent_at: new Date(claim.at).toISOString(),
    replayed: false,
    relay_replayed: answer.isRelayReplay,
  };
};
