// The agent server beside the peer whose wire it speaks, over one fake model, in one run. Prints, judges nothing.
// node bench/agent/peer.mjs [--rounds 3] [--starts 7] [--blocks 5] [--sessions 10]
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { freePort, startServer } from '../process.mjs';
import { median } from '../table.mjs';
import { alternated, versionsToMeasure } from '../versions.mjs';
import { openSession, post, sendMessage } from './client.mjs';
import { agentReport } from './peer-table.mjs';
import { serversIn } from './plans.mjs';

const { values: flags } = parseArgs({
  options: {
    rounds: { type: 'string', default: '3' },
    starts: { type: 'string', default: '7' },
    blocks: { type: 'string', default: '5' },
    sessions: { type: 'string', default: '10' },
  },
});
const [rounds, starts, blocks, sessionsPerBlock] = [flags.rounds, flags.starts, flags.blocks, flags.sessions].map(
  Number,
);

const MESSAGES_PER_SESSION = 2;
const PARALLEL = 20;
const REST_MS = 2000;
/** The peer never answers who connects between the opening of its port and its readiness, so who waits asks again. */
const PROBE_LIMIT_MS = 250;

const directory = mkdtempSync(join(tmpdir(), 'agent-bench-'));
process.on('exit', () => rmSync(directory, { recursive: true, force: true, maxRetries: 5 }));

const port = await freePort();
const backend = await startServer({
  args: [join(import.meta.dirname, 'fake-chat.mjs')],
  env: { PORT: String(port) },
  readyPath: '/health',
  port,
});
const backendUrl = `http://127.0.0.1:${port}`;

const askBackend = async () => {
  const messages = [{ role: 'user', content: 'What do you say?' }];
  const body = JSON.stringify({ model: 'main', messages, stream: true });
  return (await post(backend.port, '/v1/chat/completions', body)).tookMs;
};

const launch = async (server) => {
  const own = await freePort();
  const plan = server.plan(own);
  return startServer({ ...plan, readyPath: '/global/health', port: own, probeLimitMs: PROBE_LIMIT_MS });
};

const [{ programs }] = versionsToMeasure(undefined, ['agent.js'], directory);
const servers = (await serversIn(programs['agent.js'], directory, backendUrl)).map((server) => ({
  ...server,
  startsMs: [],
  startsCpuMs: [],
  idleMb: [],
  firstMs: [],
  sessionsMs: [],
  messagesMs: [],
  messagesCpuMs: [],
  afterMb: [],
  parallelMs: [],
}));
const direct = [];

/** Runs a step of a server's measurement; one that fails takes the server out, with the reason, and leaves the others. */
const attempt = async (server, step) => {
  if (server.missing !== undefined) return;
  try {
    await step();
  } catch (error) {
    server.missing = error.message;
  }
};

for (let start = 0; start <= starts; start++) {
  for (const server of alternated(servers, start)) {
    await attempt(server, async () => {
      const running = await launch(server);
      // The first one makes databases and caches, and is not counted.
      if (start > 0) {
        server.startsMs.push(running.startMs);
        server.startsCpuMs.push(running.cpuMs());
      }
      await running.stop();
    });
  }
}

const runBlock = async (server) => {
  for (let session = 0; session < sessionsPerBlock; session++) {
    const { id, tookMs } = await openSession(server.running.port);
    server.sessionsMs.push(tookMs);
    for (let message = 0; message < MESSAGES_PER_SESSION; message++) {
      server.messagesMs.push(await sendMessage(server.running.port, id));
    }
  }
};
const runParallel = async ({ running, parallelMs }) => {
  const opened = await Promise.all(Array.from({ length: PARALLEL }, () => openSession(running.port)));
  const startedAtMs = performance.now();
  await Promise.all(opened.map(({ id }) => sendMessage(running.port, id)));
  parallelMs.push(performance.now() - startedAtMs);
};

for (let round = 1; round <= rounds; round++) {
  for (const server of alternated(servers, round)) {
    await attempt(server, async () => {
      server.running = await launch(server);
      await pause(REST_MS);
      server.idleMb.push(server.running.residentMb());
      // The first message loads what the others find loaded.
      const { id } = await openSession(server.running.port);
      server.firstMs.push(await sendMessage(server.running.port, id));
      server.cpuBeforeMs = server.running.cpuMs();
    });
  }
  for (let block = 1; block <= blocks; block++) {
    for (let call = 0; call < sessionsPerBlock * MESSAGES_PER_SESSION; call++) direct.push(await askBackend());
    for (const server of alternated(servers, round + block)) await attempt(server, () => runBlock(server));
  }
  for (const server of servers) {
    await attempt(server, () => {
      server.afterMb.push(server.running.residentMb());
      const count = blocks * sessionsPerBlock * MESSAGES_PER_SESSION;
      server.messagesCpuMs.push((server.running.cpuMs() - server.cpuBeforeMs) / count);
    });
  }
  for (const server of alternated(servers, round)) await attempt(server, () => runParallel(server));
  for (const server of servers) await server.running?.stop();
}
await backend.stop();

/** What the disk takes for one transaction that survives a power cut, on the same file system. */
const commitMs = () => {
  const database = new DatabaseSync(join(directory, 'floor.db'));
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE row (data TEXT)');
  const insert = database.prepare('INSERT INTO row VALUES (?)');
  const took = Array.from({ length: 200 }, () => {
    const startedAtMs = performance.now();
    insert.run('x'.repeat(500));
    return performance.now() - startedAtMs;
  });
  database.close();
  return median(took);
};

console.log(
  agentReport({
    servers,
    directMs: median(direct),
    commitMs: commitMs(),
    title: `Agent server, Node ${process.version}; ${starts} alternated starts, then ${rounds} rounds of ${blocks * sessionsPerBlock} sessions with ${MESSAGES_PER_SESSION} messages each in alternated blocks; medians unless they say otherwise`,
    parallel: PARALLEL,
    count: blocks * sessionsPerBlock,
  }),
);
process.exit(0);
