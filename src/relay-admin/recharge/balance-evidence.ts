import { isRecord } from '../../core/json.ts';
import { parseFormatted, type Units } from '../money.ts';
import type { ClaimEntry, SettlementEntry } from './journal.ts';

/** The balance that was read right after a recharge was sent; `undefined` when it could not be read. */
export const balanceAfter = (settlement: SettlementEntry | undefined): Units | undefined => {
  const after = isRecord(settlement?.result) ? settlement.result.balance_after : undefined;
  return typeof after === 'string' ? parseFormatted(after) : undefined;
};

/** Whether a balance is higher than the one before the claim. Unknown balances count as not risen. */
export const hasRisen = ({ balanceBefore }: ClaimEntry, balance: Units | undefined): boolean => {
  const before = parseFormatted(balanceBefore);
  return before !== undefined && balance !== undefined && balance > before;
};
