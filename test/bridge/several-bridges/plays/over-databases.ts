// Plays over SQLite and PostgreSQL by hand, as they take a database's own time and end differently each time:
//   PLAYS=40 FIRST_PLAY=1 npx node test/bridge/several-bridges/plays/over-databases.ts
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSqliteStore } from '../../../../src/agent/adapter/sqlite/store.ts';
import { startPostgres } from '../../../agent/adapter/postgres/world.ts';
import { inProcess, type OpenArena } from './arena.ts';
import { onPostgres } from './on-postgres.ts';
import { play } from './play.ts';

const { PLAYS = 20, FIRST_PLAY = 1 } = process.env;
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

let failures = 0;
const playAll = async (store: string, arena: OpenArena, atOnce: number): Promise<void> => {
  const seeds = Array.from({ length: Number(PLAYS) }, (_, index) => Number(FIRST_PLAY) + index);
  const playSome = async (): Promise<void> => {
    for (let seed = seeds.shift(); seed !== undefined; seed = seeds.shift())
      await play(seed, STEPS, arena).catch((error: unknown) => {
        failures += 1;
        console.error(error);
      });
  };
  await Promise.all(Array.from({ length: atOnce }, playSome));
  console.log(`${store}: ${PLAYS} plays, ${failures} failures so far`);
};

await playAll('SQLite', onSqlite, 1);
const database = await startPostgres({ connections: 300 });
await playAll('PostgreSQL', onPostgres(database), AT_ONCE);
await database.stop();
process.exit(failures === 0 ? 0 : 1);
