import { access, constants, readdir, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { makeDirectoryOf } from '../../adapter/node/files.ts';
import { createJournalFile } from '../../adapter/node/journal.ts';
import type { Clock } from '../../core/clock.ts';
import { type LogoutFile, SESSION_LIFETIME_MS } from '../accounts/ended-sessions.ts';

const NAME = /^logouts-(\d{1,12})\.jsonl$/;

const periodOf = (time: number): number => Math.floor(time / SESSION_LIFETIME_MS);

/**
 * Opens a directory for logouts, with one file for those that end in the same twelve hours. No file is ever rewritten, so several
 * consoles may share the directory, and one whose time is over is deleted. The last directory of the path is made. Rejects with the
 * system's error where it cannot be written.
 */
export const openLogoutFiles = async (given: string, clock: Clock): Promise<LogoutFile> => {
  const directory = resolve(given);
  const pathOf = (period: number): string => join(directory, `logouts-${period}.jsonl`);
  let files = new Map<number, ReturnType<typeof createJournalFile>>();
  /** The files in which there may be a session that would still last. */
  const current = () => {
    const now = periodOf(clock.now());
    const periods = [now, now + 1];
    files = new Map(periods.map((period) => [period, files.get(period) ?? createJournalFile(pathOf(period))]));
    return files;
  };
  const removeOld = async (): Promise<void> => {
    for (const name of await readdir(directory)) {
      const period = NAME.exec(name)?.[1];
      if (period !== undefined && Number(period) < periodOf(clock.now()))
        await rm(join(directory, name), { force: true });
    }
  };

  /** Lines that were read and not returned. */
  let unreturned: string[] = [];

  makeDirectoryOf(pathOf(0));
  await access(directory, constants.R_OK | constants.W_OK | constants.X_OK);
  await removeOld();
  return {
    async append(line, endsAt) {
      await current().get(periodOf(endsAt))?.append(line);
      await removeOld();
    },
    async readNew() {
      const readings = [...current().values()].map(async (file) => unreturned.push(...(await file.readNew())));
      const failed = (await Promise.allSettled(readings)).find(({ status }) => status === 'rejected');
      // A file gives each line once. Those of the other one must not be lost with this failure, which the next call meets again.
      if (unreturned.length === 0 && failed?.status === 'rejected') throw failed.reason;
      const lines = unreturned;
      unreturned = [];
      return lines;
    },
  };
};
