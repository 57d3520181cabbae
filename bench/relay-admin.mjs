// The relay admin tools over one fake relay, in one run with two unguarded tools: one on the SDK's own transport, and one on relay
// admin's server and transport, against which the difference is what its guards cost. Prints, judges nothing.
// node bench/relay-admin.mjs [--rounds 5] [--calls 300] [--starts 7]
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { build } from 'esbuild';
import { freePort, residentMb, startServer } from './process.mjs';
import { fixed, median, table } from './table.mjs';

const { values: flags } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    calls: { type: 'string', default: '300' },
    starts: { type: 'string', default: '7' },
  },
});
const [rounds, calls, starts] = [flags.rounds, flags.calls, flags.starts].map(Number);

const directory = mkdtempSync(join(tmpdir(), 'relay-admin-bench-'));
process.on('exit', () => rmSync(directory, { recursive: true, force: true }));
const port = await freePort();
const relay = await startServer({
  args: [join(import.meta.dirname, 'fake-relay.mjs')],
  env: { PORT: String(port) },
  cpu: 1,
  readyPath: '/health',
  port,
});
const baseUrl = `http://127.0.0.1:${port}`;
const env = {
  PATH: process.env.PATH,
  RELAY_BASE_URL: baseUrl,
  RELAY_ALLOWED_HOST: '127.0.0.1',
  RELAY_ADMIN_API_KEY: `admin-${'0'.repeat(64)}`,
  RELAY_JOURNAL: join(directory, 'journal.jsonl'),
  LOG_LEVEL: 'error',
};
// A bundle, as relay admin is one: loading the files of a library one by one takes longer.
const floor = join(directory, 'mcp-floor.mjs');
await build({
  entryPoints: [join(import.meta.dirname, 'mcp-floor.mjs')],
  outfile: floor,
  bundle: true,
  platform: 'node',
  format: 'esm',
  logLevel: 'error',
});
const programs = {
  'relay admin': [join(import.meta.dirname, '..', 'dist', 'relay-admin.js')],
  'unguarded, low-level server': [floor, 'same'],
  'unguarded, high-level server': [floor, 'sdk'],
};

/** Starts a program and asks for its tools, as a client does before anything else. */
const startClient = async (args) => {
  const startedAtMs = performance.now();
  const transport = new StdioClientTransport({ command: process.execPath, args, env, stderr: 'ignore' });
  const client = new Client({ name: 'bench', version: '0.0.0' });
  await client.connect(transport);
  await client.listTools();
  return { client, pid: transport.pid, startMs: performance.now() - startedAtMs };
};

const timed = async (work) => {
  const tookMs = [];
  for (let call = 0; call < calls; call++) {
    const startedAtMs = performance.now();
    await work();
    tookMs.push(performance.now() - startedAtMs);
  }
  return median(tookMs);
};
const readDirectly = async () => {
  const response = await fetch(`${baseUrl}/api/v1/admin/users`, { headers: { 'x-api-key': env.RELAY_ADMIN_API_KEY } });
  await response.text();
};
const readBy = (client) => async () => {
  const result = await client.callTool({ name: 'read', arguments: { path: 'users' } });
  if (result.isError) throw new Error(result.content[0].text);
};

const rows = [];
for (const [name, program] of Object.entries(programs)) {
  const startsMs = [];
  let last;
  for (let start = 0; start < starts; start++) {
    await last?.client.close();
    last = await startClient(program);
    startsMs.push(last.startMs);
  }
  rows.push({ name, startMs: median(startsMs), ...last, readsMs: [] });
}
const direct = { name: 'the relay itself', readsMs: [] };
const work = [[direct, readDirectly], ...rows.map((row) => [row, readBy(row.client)])];
for (const [, read] of work) await timed(read);
for (let round = 1; round <= rounds; round++) {
  for (const [row, read] of round % 2 === 1 ? work : work.toReversed()) row.readsMs.push(await timed(read));
}
const idleMb = rows.map(({ pid }) => residentMb(pid));
// Many at a time, for the memory that they take.
for (const { client } of rows) {
  for (let batch = 0; batch < 5; batch++) await Promise.all(Array.from({ length: 200 }, readBy(client)));
}
const directMs = median(direct.readsMs);
const lines = [direct, ...rows].map((row, index) => [
  row.name,
  fixed(row.startMs, 0),
  fixed(median(row.readsMs), 2),
  fixed(row === direct ? undefined : median(row.readsMs) - directMs, 2),
  fixed(idleMb[index - 1], 0),
  fixed(row.pid === undefined ? undefined : residentMb(row.pid), 0),
]);
console.log(
  `\nRelay admin, Node ${process.version}; medians of ${starts} starts and of ${rounds} alternated rounds of ${calls} reads of a page of 20 users\n`,
);
console.log(
  table(['', 'start to tools/list ms', 'read ms', 'added ms', 'RSS MB', 'RSS MB after 1000 at 200 at a time'], lines),
);
await Promise.all(rows.map(({ client }) => client.close()));
await relay.stop();
process.exit(0);
