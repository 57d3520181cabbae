import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createJournalFile } from '../../../src/adapter/node/journal.ts';
import { createJournalReader } from '../../../src/console/adapter/journal-reader.ts';
import { createJournalRecharges } from '../../../src/console/recharges/journal-entries.ts';
import { RECHARGES_SHOWN, toRechargeLists } from '../../../src/console/recharges/recharge-lists.ts';
import { createJournal } from '../../../src/relay-admin/recharge/journal.ts';

/** When the lists are made, in milliseconds. */
export const NOW = Date.UTC(2026, 0, 1);
/** A hash of this character alone. */
export const hash = (char: string) => char.repeat(64);

/** A journal in a file, written with relay admin's own code. */
export const withJournal = async <T>(
  body: (path: string, journal: ReturnType<typeof createJournal>) => Promise<T>,
): Promise<T> => {
  const directory = mkdtempSync(join(tmpdir(), 'gatehouse-journal-'));
  const path = join(directory, 'journal.jsonl');
  let ids = 0;
  const journal = createJournal(createJournalFile(path), () => `an-id-of-twenty-characters-${ids++}`);
  try {
    return await body(path, journal);
  } finally {
    rmSync(directory, { recursive: true });
  }
};
/** The lists of a journal, read again with each call. */
export const followJournal = (path: string) => {
  const recharges = createJournalRecharges(RECHARGES_SHOWN);
  const read = createJournalReader(path);
  return async () => {
    const failure = await read(recharges);
    if (failure !== undefined) throw new Error(JSON.stringify(failure));
    return toRechargeLists(recharges, NOW);
  };
};
/** The lists of a journal, read once. */
export const listsOf = (path: string) => followJournal(path)();
/** A claim of which the hashes are of this character, made at this time. */
export const claimOf = (char: string, at: number) => ({
  ...{ at, token: hash(char), key: hash(char), marker: `rc_${char.repeat(16)}` },
  ...{ userId: 7, amount: '12.5', balanceBefore: '3.5' },
});
