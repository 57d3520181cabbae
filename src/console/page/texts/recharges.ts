import { counted } from './counted.ts';

/** Of the page with the journal's recharges. */
export const rechargeTexts = {
  title: 'Recharges',
  intro: 'What the journal of the relay tools says about each recharge.',
  empty: 'The journal has no recharge yet',
  emptyHint: 'A recharge appears here when it is sent.',
  noFile: (name: string): string => `There is no file ${name} yet`,
  noFileHint: 'The first recharge makes it. If there were some, RELAY_JOURNAL names another file.',
  inDoubt: 'In doubt',
  inDoubtHint: 'Nobody knows whether these were credited. Check each one before another is made.',
  noneInDoubt: 'No recharge is in doubt.',
  refused: 'Refused',
  verified: 'Verified',
  noneRefused: 'None was refused.',
  noneVerified: 'None was verified yet.',
  leftOut: (count: number): string =>
    `${counted(count, 'older recharge', 'older recharges')} of the journal ${count === 1 ? 'is' : 'are'} shown only if in doubt.`,
  check: 'What to check',
  balance: (before: string, after: string): string => `${before} → ${after}`,
  columns: {
    when: 'When',
    user: 'User',
    amount: 'Amount',
    balance: 'Balance before',
    change: 'Balance',
    reason: 'Why',
    reference: 'Reference',
  },
};
