// The bridge beside a direct call to the agent server, over one fake model, in one run. Prints, judges nothing.
// node bench/bridge/bridge.mjs [--rounds 5] [--calls 20] [--streams 200] [--seconds 10]
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { get } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { freePort, LOAD_CPU, SERVER_CPU, startServer } from '../process.mjs';
import { fixed, median, table } from '../table.mjs';

const { values: flags } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    calls: { type: 'string', default: '20' },
    streams: { type: 'string', default: '200' },
    seconds: { type: 'string', default: '10' },
  },
});
const [rounds, calls, streams, seconds] = [flags.rounds, flags.calls, flags.streams, flags.seconds].map(Number);

const directory = mkdtempSync(join(tmpdir(), 'bridge-bench-'));
process.on('exit', () => rmSync(directory, { recursive: true, force: true, maxRetries: 5 }));
// Copies: whoever builds meanwhile does not change what is measured.
const copyOf = (name) => {
  const copy = join(directory, name.replace('.js', '.mjs'));
  copyFileSync(join(import.meta.dirname, '../../dist', name), copy);
  return copy;
};
const programs = { agent: copyOf('agent.js'), bridge: copyOf('bridge.js') };
const script = (name) => join(import.meta.dirname, name);

const startOn = async (plan, readyPath) => {
  const port = await freePort();
  const env = { HOME: directory, HOST: '127.0.0.1', PORT: String(port), LOG_LEVEL: 'warn', ...plan.env };
  const running = await startServer({ ...plan, directory, env, port, readyPath });
  return { ...running, address: `http://127.0.0.1:${port}` };
};
const startBridge = (agent, env = {}) =>
  startOn(
    {
      args: ['--max-semi-space-size=8', programs.bridge],
      cpu: SERVER_CPU,
      env: { AGENT_BASE_URL: agent.address, ...env },
    },
    '/ready',
  );

const orderOf = (pieces, chars, everyMs) => `${pieces} pieces of ${chars} every ${everyMs}`;

/** Reads events as they come; `onData` is given the data of each, and ends the reading by returning true. */
const readEvents = async (stream, onData) => {
  let rest = '';
  for await (const bytes of stream) {
    const lines = (rest + bytes.toString('utf8')).split('\n');
    rest = lines.pop();
    for (const line of lines) if (line.startsWith('data: ') && onData(line.slice(6)) === true) return;
  }
};

async function* bytesOf(body) {
  for await (const bytes of body) yield Buffer.from(bytes);
}

const postStream = async (address, text, sessionName) =>
  fetch(`${address}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-session-id': sessionName },
    body: JSON.stringify({ stream: true, messages: [{ role: 'user', content: text }] }),
  });

/** Streams an answer. How long its first words and all of it took, and how many chunks there were. */
const streamed = async (address, text, sessionName) => {
  const startedAtMs = performance.now();
  const response = await postStream(address, text, sessionName);
  if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`);
  let firstMs;
  let chunks = 0;
  let chars = 0;
  await readEvents(bytesOf(response.body), (data) => {
    if (data === '[DONE]') return true;
    const { choices, error } = JSON.parse(data);
    if (error !== undefined) throw new Error(error.message);
    const content = choices[0]?.delta?.content ?? '';
    if (content === '') return false;
    chunks += 1;
    chars += content.length;
    firstMs ??= performance.now() - startedAtMs;
    return false;
  });
  return { firstMs, tookMs: performance.now() - startedAtMs, chunks, chars };
};

/** The agent's own events, on one connection for all calls. */
const listenTo = async (address) => {
  let onDelta = () => {};
  const stream = await new Promise((resolve, reject) => {
    get(`${address}/event`, { agent: false }, resolve).on('error', reject);
  });
  readEvents(stream, (data) => {
    if (data.includes('"message.part.delta"')) onDelta();
  }).catch(() => {});
  return {
    nextDelta: () =>
      new Promise((resolve) => {
        onDelta = () => {
          onDelta = () => {};
          resolve();
        };
      }),
    leave: () => stream.destroy(),
  };
};
const json = { 'content-type': 'application/json' };
const openSession = async ({ address }) => {
  const response = await fetch(`${address}/session`, { method: 'POST', headers: json, body: '{"title":"bench"}' });
  return (await response.json()).id;
};
const directFirst = async ({ address }, id, text, listening) => {
  const first = listening.nextDelta();
  const startedAtMs = performance.now();
  const body = JSON.stringify({ parts: [{ type: 'text', text }] });
  const posted = fetch(`${address}/session/${id}/message`, { method: 'POST', headers: json, body });
  await first;
  const firstMs = performance.now() - startedAtMs;
  await (await posted).text();
  return firstMs;
};

const model = await startOn({ args: [script('fake-talker.mjs')], cpu: LOAD_CPU }, '/');
const config = {
  model: 'bench/main',
  permission: 'allow',
  provider: { bench: { options: { baseURL: `${model.address}/v1` }, models: { main: {} } } },
};
const agent = await startOn(
  {
    args: [programs.agent],
    env: {
      AGENT_CONFIG_CONTENT: JSON.stringify(config),
      AGENT_DATABASE_URL: `sqlite:${join(directory, 'agent.db')}`,
    },
  },
  '/ready',
);

// The first words, each way in turn, in sessions that are there already.
const bridge = await startBridge(agent);
const idleMb = bridge.residentMb();
const startMs = bridge.startMs;
const listening = await listenTo(agent.address);
const firsts = { direct: [], bridged: [] };
const SHORT = orderOf(20, 8, 5);
for (let round = 0; round <= rounds; round++) {
  const id = await openSession(agent);
  const name = `round-${round}`;
  await directFirst(agent, id, SHORT, listening);
  await streamed(bridge.address, SHORT, name);
  for (let call = 0; call < calls; call++) {
    const direct = async () => firsts.direct.push(await directFirst(agent, id, SHORT, listening));
    const bridged = async () => firsts.bridged.push((await streamed(bridge.address, SHORT, name)).firstMs);
    for (const step of (round + call) % 2 === 0 ? [direct, bridged] : [bridged, direct]) await step();
    // What runs after an answer must not be in the way of the next one's first words.
    await pause(20);
  }
}
listening.leave();
const afterMb = bridge.residentMb();
await bridge.stop();
await agent.stop();

// The cost of a chunk, and many streams at once, before an agent that costs nothing.
const cheap = await startOn({ args: [script('fake-agent.mjs')], cpu: LOAD_CPU }, '/config');
const costs = { bare: [], bridge: [] };
{
  const bare = await startOn({ args: [script('bare-stream.mjs')], cpu: SERVER_CPU }, '/');
  const running = await startBridge(cheap, { OPENAI_STREAM_CHUNK_SIZE: '4', OPENAI_STREAM_CHUNK_DELAY_MS: '0' });
  const measure = async (server, round) => {
    const long = orderOf(3000, 4, 1);
    const before = server.cpuMs();
    const names = Array.from({ length: 4 }, (_, index) => `long-${round}-${index}`);
    const many = await Promise.all(names.map((name) => streamed(server.address, long, name)));
    return ((server.cpuMs() - before) * 1000) / many.reduce((sum, one) => sum + one.chunks, 0);
  };
  for (let round = 0; round <= rounds; round++) {
    const bridgeCost = await measure(running, round);
    const bareCost = await measure(bare, round);
    // The first one warms up.
    if (round > 0) {
      costs.bridge.push(bridgeCost);
      costs.bare.push(bareCost);
    }
  }
  await running.stop();
  await bare.stop();
}

const paced = await startBridge(cheap);
await Promise.all(Array.from({ length: 20 }, (_, index) => streamed(paced.address, SHORT, `warm-${index}`)));
const text = orderOf((seconds * 1000) / 25, 10, 25);
const cpuBefore = paced.cpuMs();
const startedAtMs = performance.now();
const many = await Promise.all(
  Array.from({ length: streams }, (_, index) => streamed(paced.address, text, `many-${index}`)),
);
const wallMs = performance.now() - startedAtMs;
const cpuShare = (paced.cpuMs() - cpuBefore) / wallMs;
const manyMb = paced.residentMb();
const lateMs = Math.max(...many.map(({ tookMs }) => tookMs)) - seconds * 1000;
const chunks = many.reduce((sum, one) => sum + one.chunks, 0);
await paced.stop();
await cheap.stop();
await model.stop();

const direct = median(firsts.direct);
const bridged = median(firsts.bridged);
console.log(
  `Bridge, Node ${process.version}; ${rounds} rounds of ${calls} alternated calls; ${streams} streams for ${seconds} s, held on one core where that can be done\n`,
);
console.log(
  table(
    ['', 'measured', 'target'],
    [
      ['start to ready, ms', fixed(startMs, 0), '-'],
      ['first words of the agent itself, ms', fixed(direct, 2), '-'],
      ['first words over the bridge, ms', fixed(bridged, 2), '-'],
      ['what the bridge adds, ms', fixed(bridged - direct, 2), '5'],
      ['processor time a chunk, µs', fixed(median(costs.bridge), 1), '20'],
      ['of a bare server that writes the same, µs', fixed(median(costs.bare), 1), '-'],
      [`chunks of ${streams} paced streams`, String(chunks), '-'],
      ['processor of one core for them', fixed(cpuShare, 2), '1'],
      ['the last of them is late by, ms', fixed(lateMs, 0), '1000'],
      ['RSS idle, MB', fixed(idleMb, 0), '120'],
      ['RSS after the calls, MB', fixed(afterMb, 0), '120'],
      [`RSS with ${streams} streams, MB`, fixed(manyMb, 0), '120'],
    ],
  ),
);
process.exit(0);
