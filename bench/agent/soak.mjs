// Many sessions against one agent server, over SQLite and over PostgreSQL: does memory grow, do answers get slower? Ends with 1
// when one of the two does.
// node bench/agent/soak.mjs [--short] [--sessions 8000] [--messages 5] [--parallel 8] [--store both|sqlite|postgres] [--snapshots DIR]
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { versionsToMeasure } from '../versions.mjs';
import { startSoaked } from './soak-run.mjs';

const { values: flags } = parseArgs({
  options: {
    short: { type: 'boolean', default: false },
    sessions: { type: 'string' },
    messages: { type: 'string', default: '5' },
    parallel: { type: 'string', default: '8' },
    store: { type: 'string', default: 'both' },
    snapshots: { type: 'string' },
  },
});
const FULL_SESSIONS = 8000;
const SHORT_SESSIONS = 2000;
/** Of the memory after the first quarter. */
const GROWTH_LIMIT = 1.05;
/** The last tenth's p95 over that of the first tenth. */
const SLOWER_LIMIT = 1.2;

const directory = mkdtempSync(join(tmpdir(), 'agent-soak-'));
process.on('exit', () => rmSync(directory, { recursive: true, force: true, maxRetries: 5 }));
if (flags.snapshots !== undefined) mkdirSync(flags.snapshots, { recursive: true });

const [{ programs }] = versionsToMeasure(undefined, ['agent.js'], directory);
const given = {
  program: programs['agent.js'],
  sessions: Number(flags.sessions ?? (flags.short ? SHORT_SESSIONS : FULL_SESSIONS)),
  messages: Number(flags.messages),
  parallel: Number(flags.parallel),
};
const stores = {
  async sqlite() {
    return { url: `sqlite:${join(directory, 'soak.db')}`, stop: async () => {} };
  },
  async postgres() {
    // Sources, which Node runs as they are: the tests start PostgreSQL in the same way.
    const { startPostgres } = await import('../../test/agent/adapter/postgres/world.ts');
    return startPostgres();
  },
};
const chosen = Object.entries(stores).filter(([name]) => flags.store === 'both' || flags.store === name);
if (chosen.length === 0) {
  process.stderr.write('--store: both, sqlite or postgres\n');
  process.exit(2);
}

const verdict = (name, ratio, limit) =>
  `${name} ${ratio.toFixed(3)} times, at most ${limit}: ${ratio <= limit ? 'met' : 'MISSED'}`;

let isWell = true;
for (const [name, open] of chosen) {
  const { url, stop } = await open();
  try {
    const own = join(directory, name);
    mkdirSync(own);
    const snapshots = flags.snapshots === undefined ? undefined : resolve(flags.snapshots);
    const { growth, slower, lines } = await startSoaked({ ...given, url, directory: own, snapshots });
    console.log(`${name}: ${lines.join('; ')}`);
    console.log(
      `${name}: ${verdict('memory of the last tenth over that after the first quarter', growth, GROWTH_LIMIT)}`,
    );
    console.log(`${name}: ${verdict('p95 of the last tenth over that of the first', slower, SLOWER_LIMIT)}`);
    isWell &&= growth <= GROWTH_LIMIT && slower <= SLOWER_LIMIT;
  } finally {
    await stop();
  }
}
process.exit(isWell ? 0 : 1);
