import type { Clock } from '../../core/clock.ts';
import type { JournalLists } from '../protocol.ts';
import { createJournalRecharges, type JournalRecharges } from './journal-entries.ts';
import { RECHARGES_SHOWN, toRechargeLists } from './recharge-lists.ts';

/** Why a journal has no lines: its file is not there yet, in a folder that is; or the system's code of why it cannot be read. */
type NoLines = { readonly missingFile: string } | { readonly code: string };

/**
 * Gives `take` the journal's whole lines: in the first call all, later those that were added. `restart` comes before the lines of
 * another file. Says why there are none. Never rejects.
 */
export type ReadJournal = (sink: Pick<JournalRecharges, 'take' | 'restart'>) => Promise<NoLines | undefined>;

/** The recharges of the journal, or why there are none. */
type RechargeReading = { readonly lists: JournalLists } | NoLines;

/** Everyone may ask for the metrics. */
const KEPT_MS = 5000;

/** Reads the recharges for all who ask: once at a time, and not again for five seconds. */
export const createRechargeReading = (readJournal: ReadJournal, clock: Clock): (() => Promise<RechargeReading>) => {
  const recharges = createJournalRecharges(RECHARGES_SHOWN);
  let last: Promise<RechargeReading> | undefined;
  /** Undefined while it runs. */
  let endedAt: number | undefined;
  const read = async (): Promise<RechargeReading> => {
    endedAt = undefined;
    const failure = await readJournal(recharges);
    endedAt = clock.now();
    return failure ?? { lists: toRechargeLists(recharges, endedAt) };
  };
  return () => {
    const isOld = endedAt !== undefined && Math.abs(clock.now() - endedAt) >= KEPT_MS;
    if (last === undefined || isOld) last = read();
    return last;
  };
};
