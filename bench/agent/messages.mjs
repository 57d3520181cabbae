// What a message costs each part: one agent server over SQLite and over PostgreSQL, and two on one PostgreSQL, with one chat and
// with many at a time. Prints, judges nothing.
// node bench/agent/messages.mjs [--rounds 3] [--chats 24] [--only sqlite,postgres,two] [--against DIST|COMMIT] [--json]
import { chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { allowedCpus, coresFor } from '../cores.mjs';
import { ask, freePort, isPinned, startServer, sum } from '../process.mjs';
import { median, percentile } from '../table.mjs';
import { alternated, versionsToMeasure } from '../versions.mjs';
import { startDatabase } from './database.mjs';
import { messagesReport } from './messages-table.mjs';
import { ourPlan } from './plans.mjs';

const { values: flags } = parseArgs({
  options: {
    rounds: { type: 'string', default: '3' },
    chats: { type: 'string', default: '24' },
    only: { type: 'string', default: 'sqlite,postgres,two' },
    against: { type: 'string' },
    json: { type: 'boolean', default: false },
  },
});
const rounds = Number(flags.rounds);
const CONCURRENCIES = [1, Number(flags.chats)];
/** A session ends after so many, because a message costs more the more there are before it. */
const MESSAGES_PER_SESSION = 20;
const SESSIONS_OF_ONE_CHAT = 15;
const SESSIONS_OF_EACH_CHAT = 2;
const WARM_SESSIONS = 20;
const RUN_LIMIT_MS = 120_000;
const KINDS = [
  { key: 'sqlite', name: 'one, SQLite', servers: 1, isShared: false },
  { key: 'postgres', name: 'one, PostgreSQL', servers: 1, isShared: true },
  { key: 'two', name: 'two, PostgreSQL', servers: 2, isShared: true },
].filter(({ key }) => flags.only.split(',').includes(key));
if (KINDS.length === 0) {
  process.stderr.write('--only: rows are sqlite, postgres, two\n');
  process.exit(2);
}

const directory = mkdtempSync(join(tmpdir(), 'agent-messages-bench-'));
chmodSync(directory, 0o755);
process.on('exit', () => rmSync(directory, { recursive: true, force: true, maxRetries: 5 }));
const versions = versionsToMeasure(flags.against, ['agent.js'], directory);

const { load: lastCore } = coresFor(1);
const startHelper = async (script) => {
  const port = await freePort();
  const args = [join(import.meta.dirname, script)];
  return startServer({ args, env: { PORT: String(port) }, readyPath: '/', port, cpu: lastCore });
};
const model = await startHelper('fake-chat.mjs');
const load = await startHelper('load.mjs');
const database = await startDatabase(join(directory, 'database'), coresFor(1).behind);

const told = async (path) => {
  const { status, text } = await ask(load.port, path, RUN_LIMIT_MS);
  if (status !== 200) throw new Error(`the load's ${path} failed: ${text || `no answer within ${RUN_LIMIT_MS} ms`}`);
  return JSON.parse(text);
};

let launches = 0;
/** The servers of a row on a new, empty store, each on its core. */
const launch = async ({ servers, isShared }, program) => {
  launches += 1;
  const own = join(directory, `store-${launches}`);
  mkdirSync(own);
  const cores = coresFor(servers);
  database.hold(cores.behind);
  const more = isShared ? { AGENT_DATABASE_URL: await database.freshDatabase() } : {};
  const started = [];
  // One after the other: the first one makes the tables.
  for (const cpu of cores.servers) {
    const port = await freePort();
    const { env, ...plan } = ourPlan(program, own, `http://127.0.0.1:${model.port}`)(port);
    started.push(await startServer({ ...plan, env: { ...env, ...more }, readyPath: '/ready', port, cpu }));
  }
  return started;
};

/** Has `sessions` sessions served by so many chats at a time, and tells what a message took of each part. */
const measure = async (servers, chats, sessions) => {
  await told(`/sessions?ports=${servers.map(({ port }) => port).join(',')}&count=${sessions}`);
  const spent = () => ({
    server: sum(servers.map((server) => server.cpuMs())),
    database: database.cpuMs(),
    load: load.cpuMs(),
    model: model.cpuMs(),
  });
  const before = spent();
  const { lastedMs, tookMs } = await told(`/run?chats=${chats}&messages=${MESSAGES_PER_SESSION}`);
  const after = spent();
  const cpuMs = Object.keys(before).map((part) => [part, (after[part] - before[part]) / tookMs.length]);
  return {
    perSecond: (tookMs.length / lastedMs) * 1000,
    p50Ms: median(tookMs),
    p95Ms: percentile(tookMs, 0.95),
    cpuMs: Object.fromEntries(cpuMs),
    residentMb: Math.max(...servers.map((server) => server.residentMb())),
  };
};

const rows = KINDS.flatMap((kind) =>
  CONCURRENCIES.flatMap((chats) => versions.map(({ name }) => ({ ...kind, chats, version: name, runs: [] }))),
);
for (let round = 1; round <= rounds; round++) {
  process.stderr.write(`round ${round} of ${rounds}\n`);
  for (const kind of alternated(KINDS, round)) {
    for (const { name, programs } of alternated(versions, round)) {
      const servers = await launch(kind, programs['agent.js']);
      await measure(servers, WARM_SESSIONS, WARM_SESSIONS * kind.servers);
      for (const chats of alternated(CONCURRENCIES, round)) {
        const row = rows.find((one) => one.key === kind.key && one.chats === chats && one.version === name);
        row.runs.push(
          await measure(servers, chats, chats === 1 ? SESSIONS_OF_ONE_CHAT : chats * SESSIONS_OF_EACH_CHAT),
        );
      }
      for (const server of servers) await server.stop();
    }
  }
}
await database.stop();

const cores = allowedCpus().length;
const title = `Agent servers, Node ${process.version}, ${cores} cores, ${isPinned ? 'each part held on its own as far as they go' : 'processes not pinned'}; sessions of ${MESSAGES_PER_SESSION} messages; medians of ${rounds} alternated rounds; processor time is user and system, of all processes of a part`;
console.log(flags.json ? JSON.stringify({ title, cores, rows }, null, 2) : messagesReport({ title, cores, rows }));
process.exit(0);
