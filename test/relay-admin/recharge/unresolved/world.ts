import * as assert from 'uvu/assert';
import { RelayError } from '../../../../src/relay-admin/errors/errors.ts';
import { parseFormatted } from '../../../../src/relay-admin/money.ts';
import { createJournal, type SettlementEntry } from '../../../../src/relay-admin/recharge/journal.ts';
import { findUnresolved } from '../../../../src/relay-admin/recharge/unresolved.ts';
import { rejection } from '../../../check.ts';
import { createFakeClock } from '../../../fake-clock.ts';
import { createScriptedRelay, historyRow } from '../../harness/scripted-relay.ts';
import { createIds, createMemoryFile } from '../../harness/world.ts';

/** Of a caller that never leaves. */
export const NEVER = new AbortController().signal;

/** An amount in units of 1e-8. */
export const units = (text: string): bigint => parseFormatted(text) ?? 0n;
/** The marker of a recharge, by its index. */
export const markerOf = (index: number): string => `rc_${String(index).padStart(16, '0')}`;

/** Recharges of user 7 that were sent so many milliseconds ago, of which the history holds those in `credited`. */
export const doubtWorld = async (
  agesMs: readonly number[],
  credited: readonly number[] = [],
  { before = agesMs.map(() => '10'), present = units('10') }: { before?: readonly string[]; present?: bigint } = {},
) => {
  const clock = createFakeClock();
  const now = clock.now();
  const journal = createJournal(createMemoryFile().open(), createIds());
  const bys: string[] = [];
  for (const [index, ageMs] of agesMs.entries()) {
    const hash = (letter: string) => letter + String(index).padStart(63, '0');
    const { claim } = await journal.claim({
      at: now - ageMs,
      token: hash('a'),
      key: hash('b'),
      marker: markerOf(index),
      userId: 7,
      amount: `${index + 1}.5`,
      balanceBefore: before[index] ?? '10',
    });
    bys.push(claim.by);
  }
  const items = credited.map((index) => historyRow(index, { notes: `recharge ${markerOf(index)}` }));
  const { relay, asked: reads } = createScriptedRelay(() => ({ items, total: items.length }));
  const settle = (index: number, more: Partial<SettlementEntry>) =>
    journal.settle({ at: now, by: bys[index] ?? '', state: 'accepted_unverified', isAccepted: false, ...more });
  return {
    look: (userId = 7, signal = NEVER) =>
      findUnresolved({ relay, journal, clock }, { id: userId, balance: present }, signal),
    reads,
    settle,
    now,
  };
};
/** The detail of the error that a promise rejects with. */
export const problemOf = async (promise: Promise<unknown>) => {
  const error = await rejection(promise);
  assert.instance(error, RelayError);
  return (error as RelayError).detail;
};
