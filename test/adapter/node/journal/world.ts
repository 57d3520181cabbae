import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Runs `body` with the path of a journal in a directory of its own, which is gone afterwards. */
export const inDirectory = async (body: (path: string, directory: string) => Promise<void>): Promise<void> => {
  const directory = mkdtempSync(join(tmpdir(), 'journal-'));
  try {
    await body(join(directory, 'data', 'journal.jsonl'), directory);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
};

export const linesIn = (path: string): string[] =>
  readFileSync(path, 'utf8')
    .split('\n')
    .filter((line) => line !== '');
