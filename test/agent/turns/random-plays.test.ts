import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSqliteStore } from '../../../src/agent/adapter/sqlite/store.ts';
import { describe, thorough } from '../../check.ts';
import { createMemoryStore } from '../store/memory-store.ts';
import { play } from './plays.ts';

const PLAYS = Number(process.env.PLAYS ?? thorough(40, 300));
/** Each commit of a file waits for the disk. */
const ON_DISK = Math.min(PLAYS, thorough(4, 20));
const FIRST = Number(process.env.FIRST_PLAY ?? 1);

const playAll = async (plays: number, createStore: Parameters<typeof play>[1]): Promise<void> => {
  for (let seed = FIRST; seed < FIRST + plays; seed++)
    await play(seed, createStore).catch((error: unknown) => {
      throw new Error(`play ${seed}: ${error instanceof Error ? `${error.message}\n${error.stack}` : error}`);
    });
};

const directory = mkdtempSync(join(tmpdir(), 'gatehouse-plays-'));
process.on('exit', () => rmSync(directory, { recursive: true, force: true }));
let files = 0;
/** A file of its own for each play. */
const inDirectory = (ids: Parameters<Parameters<typeof play>[1]>[0]) => {
  files += 1;
  return openSqliteStore({ file: join(directory, `${files}.db`), ids });
};

describe('random plays of turns', (check) => {
  check('mix up and lose no answer, over a store in memory', () =>
    playAll(PLAYS, async (ids) => createMemoryStore({ ids })),
  );
  check('mix up and lose no answer, over SQLite', () => playAll(ON_DISK, inDirectory));
});
