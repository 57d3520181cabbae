import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSqliteStore } from '../../../../src/adapter/sqlite/store.ts';
import { startPostgres } from '../../../adapter/postgres/world.ts';
import { describe } from '../../../check.ts';
import { inProcess } from './arena.ts';
import { onPostgres } from './on-postgres.ts';
import { play } from './play.ts';

const { PLAYS = 40, FIRST_PLAY = 1 } = process.env;
const STEPS = 3;
/** They mostly wait. */
const AT_ONCE = 8;

const directory = mkdtempSync(join(tmpdir(), 'gatehouse-plays-'));
process.on('exit', () => rmSync(directory, { recursive: true, force: true }));
let files = 0;
const onSqlite = inProcess(async (ids) => {
  files += 1;
  return openSqliteStore({ file: join(directory, `${files}.db`), ids });
});
const seeds = Array.from({ length: Number(PLAYS) }, (_, index) => Number(FIRST_PLAY) + index);

describe('two bridges over two agent servers on one database', (check) => {
  check('lose, repeat and mix up no answer, over SQLite', async () => {
    for (const seed of seeds) await play(seed, STEPS, onSqlite);
  });

  check('lose, repeat and mix up no answer, over PostgreSQL', async () => {
    const database = await startPostgres({ connections: 300 });
    try {
      const left = [...seeds];
      const playSome = async (): Promise<void> => {
        for (let seed = left.shift(); seed !== undefined; seed = left.shift())
          await play(seed, STEPS, onPostgres(database));
      };
      await Promise.all(Array.from({ length: AT_ONCE }, playSome));
    } finally {
      await database.stop();
    }
  });
});
