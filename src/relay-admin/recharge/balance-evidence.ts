import { isRecord } from '../../core/json.ts';
import { compareUnits, isSameAmount, largestSize, parseFormatted, parseUnits, type Units } from '../money.ts';
import type { ClaimEntry, RecordedRecharge, SettlementEntry } from './journal.ts';

/** The balance that was read right after a recharge was sent; `undefined` when it could not be read. */
const balanceAfter = (settlement: SettlementEntry | undefined): Units | undefined => {
  const after = isRecord(settlement?.result) ? settlement.result.balance_after : undefined;
  return typeof after === 'string' ? parseFormatted(after) : undefined;
};

/** Whether a balance was read and is not above the one before the claim. No proof alone: usage can hide a rise. */
export const isUnrisen = ({ balanceBefore }: ClaimEntry, balance: Units | undefined): boolean => {
  const before = parseFormatted(balanceBefore);
  return before !== undefined && balance !== undefined && balance <= before;
};

/** How the balance changed after a recharge was sent, and whether that is exactly its amount. */
type BalanceChange = { readonly change: Units; readonly isExact: boolean };

/**
 * The change of the balance after a recharge, from every balance that was read before the next recharge of the user: right
 * after it, when the next one was claimed, or now. The one that is exactly the amount, or else the largest.
 */
export const findBalanceChange = (
  { claim, settlement }: RecordedRecharge,
  { next, present }: { readonly next: ClaimEntry | undefined; readonly present: Units },
): BalanceChange => {
  const before = parseFormatted(claim.balanceBefore) ?? present;
  const amount = parseUnits(claim.amount) ?? 0n;
  const seen = [balanceAfter(settlement), next === undefined ? present : parseFormatted(next.balanceBefore)];
  const changes = seen.filter((balance) => balance !== undefined).map((balance) => balance - before);
  const largest = largestSize(before, before + amount, present);
  const exact = changes.find((change) => isSameAmount(change, amount, largest));
  const change = exact ?? changes.toSorted(compareUnits).at(-1) ?? 0n;
  return { change, isExact: exact !== undefined };
};
