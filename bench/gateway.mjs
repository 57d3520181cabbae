// The gateway beside a bare Node floor and a peer, over one fake backend, in one run. Prints tables and judges nothing.
// node bench/gateway.mjs [--rounds 5] [--seconds 2] [--only direct,floor,gateway,cached,traced,nginx,litellm,portkey] [--delay-ms 0] [--fresh] [--json]
// --fresh starts the servers anew in each round: two processes of one program differ by some percent, as their code was compiled.
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { ask, freePort, isPinned, LOAD_CPU, runToEnd, SERVER_CPU, startServer } from './process.mjs';
import { backendPlan, rowsFor } from './rows.mjs';
import { reportText } from './table.mjs';

const CONCURRENCIES = [1, 8, 32];
const STARTS = 5;

const { values: flags } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '2' },
    only: { type: 'string', default: '' },
    'delay-ms': { type: 'string', default: '0' },
    fresh: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
  },
});
const rounds = Number(flags.rounds);
const seconds = Number(flags.seconds);
const only = flags.only.split(',').filter((name) => name !== '');
const tell = (text) => process.stderr.write(`${text}\n`);

const start = async (planFor) => {
  const port = await freePort();
  return startServer({ ...(await planFor(port)), port, cpu: SERVER_CPU });
};

/** Starts the server several times; the last one stays up to be measured. */
const startRepeatedly = async (planFor) => {
  const startsMs = [];
  for (;;) {
    const server = await start(planFor);
    startsMs.push(server.startMs);
    if (startsMs.length === STARTS) return { server, startsMs };
    await server.stop();
  }
};

const delayMs = Number(flags['delay-ms']);
const startBackend = async () => {
  const port = await freePort();
  await startServer({ ...(await backendPlan(port, delayMs)), port, cpu: LOAD_CPU });
  return { url: `http://127.0.0.1:${port}`, counts: async () => JSON.parse((await ask(port, '/bench/counts')).text) };
};
const { url: backendUrl, counts: backendCounts } = await startBackend();
// The same program takes spans. In a process of its own it slows the backend of no row.
const collector = await startBackend();

const known = rowsFor(backendUrl, delayMs, collector.url);
const unknown = only.filter((name) => known.every((row) => row.name !== name));
if (unknown.length > 0) {
  tell(`--only: unknown ${unknown.join(', ')}; rows are ${known.map((row) => row.name).join(', ')}`);
  process.exit(2);
}

const rows = [];
for (const { name, plan, load } of known.filter((row) => only.length === 0 || only.includes(row.name))) {
  const planFor = (port) => plan(port, backendUrl);
  const row = { name, load, planFor, firstText: 0, startsMs: [], runs: [], failures: { count: 0, first: undefined } };
  rows.push(row);
  tell(`starting ${name}`);
  try {
    Object.assign(row, await startRepeatedly(planFor));
  } catch (error) {
    row.missing = error.message;
    tell(`${name}: ${error.message}`);
  }
}
const measurable = rows.filter((row) => row.server !== undefined);

/** One run of the load generator; texts never come back except where the row asks for laps. */
const measure = async (row, concurrency) => {
  const { chatCalls: callsBefore } = await backendCounts();
  const job = { ...row.load, port: row.server.port, concurrency, seconds, firstText: row.firstText };
  const plan = { args: [join(import.meta.dirname, 'load.mjs')], env: { LOAD_JOB: JSON.stringify(job) }, cpu: LOAD_CPU };
  const cpuMsBefore = row.server.cpuMs();
  const { failures, ...run } = await runToEnd(plan);
  const cpuMicros = ((row.server.cpuMs() - cpuMsBefore) * 1000) / run.sent;
  if (row.load.lapTexts === undefined) row.firstText += run.sent;
  row.failures.count += failures.count;
  row.failures.first ??= failures.first;
  return { ...run, cpuMicros, concurrency, backendCalls: (await backendCounts()).chatCalls - callsBefore };
};

/** A server that has died is not asked again: its row keeps what was measured, and says why it ended. */
const isUp = (row) => {
  row.missing ??= row.server.endedWith();
  return row.missing === undefined;
};

const warmUp = async () => {
  tell('warming up');
  for (const row of measurable.filter(isUp)) await measure(row, 8);
};
const startAnew = async () => {
  for (const row of measurable.filter(isUp)) {
    await row.server.stop();
    row.server = await start(row.planFor);
  }
  await warmUp();
};

await warmUp();
for (let round = 1; round <= rounds; round++) {
  tell(`round ${round} of ${rounds}`);
  if (flags.fresh && round > 1) await startAnew();
  const order = round % 2 === 1 ? measurable : measurable.toReversed();
  for (const concurrency of CONCURRENCIES) {
    for (const row of order.filter(isUp)) row.runs.push({ round, ...(await measure(row, concurrency)) });
  }
}

for (const row of measurable.filter(isUp)) row.residentMb = row.server.residentMb();
const pinning = isPinned
  ? `server under test on cpu ${SERVER_CPU}, load and backend on cpu ${LOAD_CPU}`
  : 'processes not pinned';
const title = `Node ${process.version}, ${new Date().toISOString().slice(0, 10)}, ${pinning}; medians of ${rounds} alternated rounds of ${seconds} s, starts of ${STARTS}${flags.fresh ? '; servers started anew in each round' : ''}`;
const report = {
  title,
  concurrencies: CONCURRENCIES,
  spans: (await collector.counts()).spans,
  rows: rows.map(({ load: _load, planFor: _planFor, server: _server, firstText: _firstText, ...row }) => row),
};
console.log(flags.json ? JSON.stringify(report, null, 2) : reportText(report));
process.exit(0);
