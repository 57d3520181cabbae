// Many sessions against one agent server, on SQLite and on PostgreSQL: does memory grow, do answers get slower?
// node bench/agent/soak.mjs [--sessions 2000] [--messages 5] [--parallel 8] [--store both] [--gate]
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { startSoaked } from './soak-run.mjs';

const { values: flags } = parseArgs({
  options: {
    sessions: { type: 'string', default: '2000' },
    messages: { type: 'string', default: '5' },
    parallel: { type: 'string', default: '8' },
    store: { type: 'string', default: 'both' },
    gate: { type: 'boolean', default: false },
  },
});
const GROWTH_LIMIT_MB = 30;
const SLOWER_LIMIT = 1.3;

const directory = mkdtempSync(join(tmpdir(), 'agent-soak-'));
process.on('exit', () => rmSync(directory, { recursive: true, force: true, maxRetries: 5 }));

const given = {
  sessions: Number(flags.sessions),
  messages: Number(flags.messages),
  parallel: Number(flags.parallel),
  directory,
};
const stores = {
  async sqlite() {
    return { url: `sqlite:${join(directory, 'soak.db')}`, stop: async () => {} };
  },
  async postgres() {
    // Sources, which Node runs as they are: the tests start PostgreSQL in the same way.
    const { startPostgres } = await import('../../test/adapter/postgres/world.ts');
    const { url, stop } = await startPostgres();
    return { url, stop };
  },
};

let isWell = true;
for (const [name, open] of Object.entries(stores)) {
  if (flags.store !== 'both' && flags.store !== name) continue;
  const { url, stop } = await open();
  try {
    const { growthMb, slower, lines } = await startSoaked({ ...given, url });
    console.log(`${name}: ${lines.join('; ')}`);
    isWell &&= growthMb <= GROWTH_LIMIT_MB && slower <= SLOWER_LIMIT;
  } finally {
    await stop();
  }
}
process.exit(flags.gate && !isWell ? 1 : 0);
