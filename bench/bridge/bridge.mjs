// The bridge: what it adds to an agent's first words, what a chunk costs, and many streams at once. Prints, judges nothing.
// node bench/bridge/bridge.mjs [--rounds 3] [--calls 20] [--streams 500] [--idle 2000] [--seconds 10] [--against DIST|COMMIT]
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { allowedCpus, coresFor } from '../cores.mjs';
import { freePort, isPinned, startServer } from '../process.mjs';
import { alternated, versionsToMeasure } from '../versions.mjs';
import { bridgeReport } from './bridge-table.mjs';
import { measureFirstWords } from './first-words.mjs';
import { chunkCost, holdConversations, pacedStreams } from './streams.mjs';

const { values: flags } = parseArgs({
  options: {
    rounds: { type: 'string', default: '3' },
    calls: { type: 'string', default: '20' },
    streams: { type: 'string', default: '500' },
    idle: { type: 'string', default: '2000' },
    seconds: { type: 'string', default: '10' },
    against: { type: 'string' },
  },
});
const [rounds, calls, streams, idle, seconds] = [
  flags.rounds,
  flags.calls,
  flags.streams,
  flags.idle,
  flags.seconds,
].map(Number);
const CHUNK_PIECES = 2000;
/** Memory does not grow with the length of a stream. */
const SECONDS_BESIDE_IDLE = 5;

/** What Node is started with in the image. */
const imageFlags = (() => {
  const dockerfile = readFileSync(join(import.meta.dirname, '../../Dockerfile'), 'utf8');
  const [entrypoint] = /(?<=^ENTRYPOINT )\["node", .*bridge\.js"\]$/m.exec(dockerfile);
  return JSON.parse(entrypoint).slice(1, -1);
})();
const directory = mkdtempSync(join(tmpdir(), 'bridge-bench-'));
process.on('exit', () => rmSync(directory, { recursive: true, force: true, maxRetries: 5 }));
const versions = versionsToMeasure(flags.against, ['bridge.js'], directory);
const [{ programs }] = versionsToMeasure(undefined, ['agent.js'], directory);
const cores = coresFor(1);
const tell = (text) => process.stderr.write(`${text}\n`);

const startOn = async (plan, readyPath) => {
  const port = await freePort();
  const env = { HOME: directory, HOST: '127.0.0.1', PORT: String(port), LOG_LEVEL: 'warn', ...plan.env };
  return startServer({ ...plan, directory, env, port, readyPath });
};
const startScript = (name, readyPath, cpu) => startOn({ args: [join(import.meta.dirname, name)], cpu }, readyPath);
const startBridge = (version, agent, more = {}) => {
  const args = [...imageFlags, version.programs['bridge.js']];
  const env = { AGENT_BASE_URL: `http://127.0.0.1:${agent.port}`, MAX_CONCURRENCY: '1000', ...more };
  return startOn({ args, cpu: cores.servers[0], env }, '/ready');
};
const startAgent = (model) => {
  const config = {
    model: 'bench/main',
    permission: 'allow',
    provider: { bench: { options: { baseURL: `http://127.0.0.1:${model.port}/v1` }, models: { main: {} } } },
  };
  const env = {
    AGENT_CONFIG_CONTENT: JSON.stringify(config),
    AGENT_DATABASE_URL: `sqlite:${join(directory, 'agent.db')}`,
  };
  return startOn({ args: [programs['agent.js']], cpu: cores.behind, env }, '/ready');
};

const rows = versions.map(({ name }) => ({
  version: name,
  startsMs: [],
  idleMb: [],
  chunkMicros: [],
  paced: [],
  beside: [],
}));

tell('first words');
const model = await startScript('fake-talker.mjs', '/', cores.load);
const agent = await startAgent(model);
const bridges = await Promise.all(versions.map((version) => startBridge(version, agent)));
const firstWords = await measureFirstWords({ agent, bridges, rounds, calls });
for (const [index, bridge] of bridges.entries()) {
  rows[index].afterMb = bridge.residentMb();
  rows[index].firstMs = firstWords.bridged[index];
}
for (const server of [...bridges, agent, model]) await server.stop();

// From here on before an agent that costs nothing.
const cheap = await startScript('fake-agent.mjs', '/config', cores.behind);
const load = await startScript('stream-load.mjs', '/', cores.load);

tell('a chunk');
const unpaced = { OPENAI_STREAM_CHUNK_SIZE: '4', OPENAI_STREAM_CHUNK_DELAY_MS: '0' };
const bare = { server: await startScript('bare-stream.mjs', '/', cores.servers[0]), chunkMicros: [] };
const writers = [bare];
for (const [index, version] of versions.entries()) {
  writers.push({ server: await startBridge(version, cheap, unpaced), chunkMicros: rows[index].chunkMicros });
}
for (let round = 0; round <= rounds; round++) {
  for (const { server, chunkMicros } of alternated(writers, round)) {
    const cost = await chunkCost({ load, server, name: `chunk-${round}`, pieces: CHUNK_PIECES });
    // The first one warms up.
    if (round > 0) chunkMicros.push(cost);
  }
}
for (const { server } of writers) await server.stop();

for (let round = 1; round <= rounds; round++) {
  tell(`streams, round ${round} of ${rounds}`);
  for (const [index, version] of alternated([...versions.entries()], round)) {
    const row = rows[index];
    const bridge = await startBridge(version, cheap);
    row.startsMs.push(bridge.startMs);
    row.idleMb.push(bridge.residentMb());
    const given = { load, agent: cheap, bridge, streams };
    await holdConversations(load, bridge, 100, `warm-${round}-${index}`);
    row.paced.push(await pacedStreams({ ...given, seconds, name: `first-${round}-${index}` }));
    await holdConversations(load, bridge, idle, `idle-${round}-${index}`);
    row.beside.push(await pacedStreams({ ...given, seconds: SECONDS_BESIDE_IDLE, name: `second-${round}-${index}` }));
    await bridge.stop();
  }
}
await load.stop();
await cheap.stop();

const where = isPinned ? 'the bridge held on a core of its own' : 'processes not pinned';
console.log(
  bridgeReport({
    title: `Bridge, Node ${process.version}, ${allowedCpus().length} cores, ${where}; medians of ${rounds} alternated rounds; ${calls} calls a round, streams for ${seconds} s`,
    rows,
    directMs: firstWords.direct,
    bareMicros: bare.chunkMicros,
    streams,
    idle,
  }),
);
process.exit(0);
