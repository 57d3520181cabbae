import type { JournalLists, RechargeRow } from '../protocol.ts';
import { isInDoubt, type JournalRecharge, type JournalRecharges, type SettlementRecord } from './journal-entries.ts';

/** Of a journal that is not there yet. */
export const NO_RECHARGES: JournalLists = { inDoubt: [], refused: [], verified: [], leftOut: 0 };

/** Of each list. */
export const RECHARGES_SHOWN = 1000;
/** A recharge may take as long as its tool call. */
const RUNNING_MS = 120_000;

const DOUBTS: Readonly<Record<string, string>> = {
  'no-answer': 'The connection broke after it was sent.',
  'timed-out': 'The relay did not answer in time.',
  redirected: 'The relay answered with a redirect.',
  'server-error': 'The relay answered with an error of its own.',
  'unusable-answer': 'The answer of the relay could not be read.',
  'in-progress': 'The relay still held an earlier attempt.',
  'retry-backoff': 'The relay asked to wait before another attempt.',
  'store-unavailable': 'The relay could not reach its store.',
  refused: 'The relay refused it, and what was read afterwards does not prove that nothing was credited.',
};

const doubtReason = (settlement: SettlementRecord | undefined, ageMs: number): string => {
  if (settlement === undefined)
    return ageMs < RUNNING_MS
      ? 'It was sent a moment ago and may still run.'
      : 'It was about to be sent, and no outcome was written: the process may have ended in between.';
  if (settlement.isAccepted)
    return 'The relay said that it credited it, and the balance history or the balance does not show it.';
  return DOUBTS[settlement.doubt ?? ''] ?? 'Its outcome could not be confirmed.';
};

const checksFor = ({ claim }: JournalRecharge): readonly string[] => [
  `Search the balance history of user ${claim.userId} for ${claim.marker}: a row with it means that it was credited.`,
  `Compare the balance of user ${claim.userId} with ${claim.balanceBefore} before it, allowing for its usage since.`,
  'Ask the database of the relay whether a transaction from before is still open: a credit can come late, and without a row.',
  'Only then decide on a new preview. The steps are in the runbook of docs/relay-admin.md.',
];

const toRow = ({ claim, settlement }: JournalRecharge): RechargeRow => ({
  reference: claim.marker,
  at: claim.at,
  user: `user ${claim.userId}`,
  amount: claim.amount,
  before: claim.balanceBefore,
  ...(typeof settlement?.result?.balance_after === 'string' ? { after: settlement.result.balance_after } : {}),
  ...(settlement === undefined ? {} : { settled: settlement.at }),
});

const refusalReason = ({ status }: SettlementRecord): string =>
  status === undefined || status === 0
    ? 'The relay was never reached: nothing was sent.'
    : `The relay refused it with status ${status} before anything was done, and nothing was credited.`;

/** The recharges of a journal by what is known of them. */
export const toRechargeLists = (recharges: Pick<JournalRecharges, 'kept' | 'count'>, now: number): JournalLists => {
  const kept = recharges.kept();
  const newest = kept.slice(-RECHARGES_SHOWN).toReversed();
  // What is in doubt must not be pushed out by newer ones.
  const inDoubt = kept
    .filter(isInDoubt)
    .slice(-RECHARGES_SHOWN)
    .toReversed()
    .map((one) => ({
      ...toRow(one),
      reason: doubtReason(one.settlement, now - one.claim.at),
      check: checksFor(one),
    }));
  const refused = newest.flatMap((one) =>
    one.settlement?.state === 'not_applied' ? [{ ...toRow(one), reason: refusalReason(one.settlement) }] : [],
  );
  const verified = newest.flatMap((one) => (one.settlement?.state === 'verified' ? [toRow(one)] : []));
  return { inDoubt, refused, verified, leftOut: Math.max(0, recharges.count() - RECHARGES_SHOWN) };
};
