import { RelayError } from '../errors/errors.ts';
import { formatUnits, type Units } from '../money.ts';

/** Throws `balance-stays-negative` when the relay would refuse the recharge: it adds nothing that leaves a balance below zero. */
export const assertNotNegative = (balance: Units, amount: Units, largest: Units): void => {
  if (balance + amount >= 0n) return;
  throw new RelayError({
    kind: 'balance-stays-negative',
    balance: formatUnits(balance),
    least: formatUnits(-balance),
    limit: formatUnits(largest),
    isOverLimit: -balance > largest,
  });
};
