import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { startPostgres } from '../../agent/adapter/postgres/world.ts';
import { describe } from '../../check.ts';
import { bundle } from '../processes.ts';

const GIVEN = { sessions: 150, messages: 5, parallel: 8, settleMs: 1000 };
/** About 60 MB. A machine that is busy with other tests swings more than a soak that has it to itself, and is soaked longer. */
const GROWTH_LIMIT = 1.5;
const SLOWER_LIMIT = 8;

type Soaked = { readonly growth: number; readonly slower: number; readonly lines: readonly string[] };
const soaked = async (url: string, directory: string): Promise<Soaked> => {
  const program = bundle('agent.js');
  const { startSoaked } = await import(join(import.meta.dirname, '../../../bench/agent/soak-run.mjs'));
  return startSoaked({ ...GIVEN, program, url, directory });
};
const assertFlat = async (url: string, directory: string): Promise<void> => {
  const { growth, slower, lines } = await soaked(url, directory);
  console.log(`figure: ${lines.join('; ')}`);
  assert.ok(growth < GROWTH_LIMIT, `${growth} times the memory`);
  assert.ok(slower < SLOWER_LIMIT, `${slower} times slower`);
};
const inDirectory = async (body: (directory: string) => Promise<void>): Promise<void> => {
  const directory = mkdtempSync(join(tmpdir(), 'agent-soak-'));
  try {
    await body(directory);
  } finally {
    rmSync(directory, { recursive: true, force: true, maxRetries: 5 });
  }
};

describe(`an agent server after ${GIVEN.sessions * GIVEN.messages} messages`, (check) => {
  check('on a file takes no more memory and no more time than before', () =>
    inDirectory((directory) => assertFlat(`sqlite:${join(directory, 'soak.db')}`, directory)),
  );

  check('on PostgreSQL takes no more memory and no more time than before', () =>
    inDirectory(async (directory) => {
      const database = await startPostgres();
      try {
        await assertFlat(database.url, directory);
      } finally {
        await database.stop();
      }
    }),
  );
});
