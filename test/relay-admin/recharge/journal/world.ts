import * as assert from 'uvu/assert';
import { RelayError } from '../../../../src/relay-admin/errors/errors.ts';
import { type ClaimEntry, createJournal, type SettlementEntry } from '../../../../src/relay-admin/recharge/journal.ts';
import { rejection } from '../../../check.ts';
import { createIds, createMemoryFile } from '../../harness/world.ts';

/** When every claim and settlement was made, in milliseconds. */
export const AT = Date.UTC(2026, 0, 1);

/** A claim without what the journal adds to it. */
export type Draft = Omit<ClaimEntry, 'kind' | 'by'>;
/** A claim whose token and key hashes end in the given numbers. */
export const draft = (token: number, key: number, more: Partial<Draft> = {}): Draft => ({
  at: AT,
  token: `a${String(token).padStart(63, '0')}`,
  key: `b${String(key).padStart(63, '0')}`,
  marker: `rc_${String(key).padStart(16, '0')}`,
  userId: 7,
  amount: '12.5',
  balanceBefore: '10',
  ...more,
});
/** A settlement without what the journal adds to it. */
export type Settled = Omit<SettlementEntry, 'kind'>;
/** A settlement of the claim `by`, of a recharge that was accepted and not verified. */
export const settlement = (by: string, more: Partial<Settled> = {}): Settled => ({
  at: AT,
  by,
  state: 'accepted_unverified',
  isAccepted: false,
  ...more,
});

/** Some processes on one file. */
export const processes = (count: number) => {
  const file = createMemoryFile();
  const newId = createIds();
  const journals = Array.from({ length: count }, () => createJournal(file.open(), newId));
  const [first, second = first] = journals;
  if (first === undefined || second === undefined) throw new Error('No process');
  return { file, journals, first, second, another: () => createJournal(file.open(), newId) };
};

/** Demands the error of a journal that is unavailable, for the reason `why` if one is given. */
export const assertUnavailable = async (promise: Promise<unknown>, why?: string): Promise<void> => {
  const error = await rejection(promise);
  assert.instance(error, RelayError);
  const { detail } = error as RelayError;
  assert.is(detail.kind, 'journal-unavailable');
  if (why !== undefined) assert.equal(detail, { kind: 'journal-unavailable', why });
};
