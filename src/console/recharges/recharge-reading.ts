import type { Clock } from '../../core/clock.ts';
import type { JournalLists } from '../protocol.ts';
import { toRechargeLists } from './recharge-lists.ts';

/** Why a journal has no lines: its file is not there yet, in a folder that is; or the system's code of why it cannot be read. */
type NoLines = { readonly missingFile: string } | { readonly code: string };

/** The journal's whole lines, or why there are none. Never rejects. */
export type ReadJournal = () => Promise<{ readonly lines: readonly string[] } | NoLines>;

/** The recharges of the journal, or why there are none. */
type RechargeReading = { readonly lists: JournalLists } | NoLines;

/** A long journal takes half a second and much memory to read, and everyone may ask for the metrics. */
const KEPT_MS = 5000;

/** Reads the recharges for all who ask: once at a time, and not again for five seconds. */
export const createRechargeReading = (readJournal: ReadJournal, clock: Clock): (() => Promise<RechargeReading>) => {
  let last: Promise<RechargeReading> | undefined;
  /** Undefined while it runs. */
  let endedAt: number | undefined;
  const read = async (): Promise<RechargeReading> => {
    endedAt = undefined;
    const journal = await readJournal();
    endedAt = clock.now();
    return 'lines' in journal ? { lists: toRechargeLists(journal.lines, endedAt) } : journal;
  };
  return () => {
    const isOld = endedAt !== undefined && Math.abs(clock.now() - endedAt) >= KEPT_MS;
    if (last === undefined || isOld) last = read();
    return last;
  };
};
