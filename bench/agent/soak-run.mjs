import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { freePort, startServer } from '../process.mjs';
import { median, percentile } from '../table.mjs';
import { openSession, sendMessage } from './client.mjs';
import { ourPlan } from './plans.mjs';

const WARM_SESSIONS = 500;
const SETTLE_MS = 5000;
/** The memory is read this many times in a soak. */
const SAMPLES = 200;
const SNAPSHOT_MS = 20_000;

const one = (number) => number.toFixed(1);
const p95 = (times) => percentile(times, 0.95);

/** The middle of the memory between two shares of the messages: that of a single moment depends on the garbage. */
const memoryBetween = (samples, from, until) =>
  median(samples.filter(({ share }) => share > from && share <= until).map(({ residentMb }) => residentMb));

/** The processor time of a message between two shares of them, which a busy machine changes less than its latency. */
const costBetween = (samples, from, until) => {
  const within = samples.filter(({ share }) => share >= from && share <= until);
  const [first, last] = [within[0], within.at(-1)];
  return (last.cpuMs - first.cpuMs) / (last.count - first.count);
};

/** Sends each of the sessions its messages, `parallel` sessions at a time; `onMessage` is told how many have been answered. */
const chat = async (port, { sessions, messages, parallel }, onMessage = () => {}) => {
  const tookMs = [];
  let begun = 0;
  const lane = async () => {
    while (begun < sessions) {
      begun += 1;
      const { id } = await openSession(port);
      for (let message = 0; message < messages; message++) {
        tookMs.push(await sendMessage(port, id));
        onMessage(tookMs.length);
      }
    }
  };
  await Promise.all(Array.from({ length: parallel }, lane));
  return tookMs;
};

const startModel = async () => {
  const port = await freePort();
  const args = [join(import.meta.dirname, 'fake-chat.mjs')];
  return startServer({ args, env: { PORT: String(port) }, readyPath: '/health', port });
};

const startAgent = async ({ program, url, directory, snapshots }, model) => {
  const port = await freePort();
  const { args, env, ...plan } = ourPlan(program, directory, `http://127.0.0.1:${model.port}`)(port);
  // As in the images; a signal writes what is on the heap.
  const options = [
    '--max-semi-space-size=8',
    '--heapsnapshot-signal=SIGUSR2',
    `--diagnostic-dir=${snapshots ?? directory}`,
  ];
  const own = { ...plan, args: [...options, ...args], env: { ...env, AGENT_DATABASE_URL: url } };
  return startServer({ ...own, readyPath: '/ready', port });
};

/**
 * Starts a fake model and an agent server on the store at `url`, has all of it said, and tells how many times the memory and the
 * p95 at the end are what they were: `growth` over the tenth after the first quarter, `slower` over the first tenth. With
 * `snapshots`, a folder, the heap is written there before and after.
 */
export const startSoaked = async ({ settleMs = SETTLE_MS, ...given }) => {
  const { sessions, messages } = given;
  const model = await startModel();
  const server = await startAgent(given, model);
  const writeHeap = async () => {
    if (given.snapshots === undefined) return;
    server.signal('SIGUSR2');
    await pause(SNAPSHOT_MS);
  };
  try {
    // What is loaded and compiled once is not growth.
    await chat(server.port, { ...given, sessions: Math.min(WARM_SESSIONS, Math.ceil(sessions / 4)) });
    await pause(settleMs);
    await writeHeap();
    const beforeMb = server.residentMb();
    const samples = [];
    const total = sessions * messages;
    const every = Math.ceil(total / SAMPLES);
    const startedAtMs = performance.now();
    samples.push({ count: 0, share: 0, residentMb: beforeMb, cpuMs: server.cpuMs() });
    const tookMs = await chat(server.port, given, (count) => {
      if (count % every > 0) return;
      samples.push({ count, share: count / total, residentMb: server.residentMb(), cpuMs: server.cpuMs() });
    });
    const seconds = (performance.now() - startedAtMs) / 1000;
    await pause(settleMs);
    await writeHeap();
    const tenths = Array.from({ length: 10 }, (_, tenth) => memoryBetween(samples, tenth / 10, (tenth + 1) / 10));
    const [afterQuarterMb, endMb] = [memoryBetween(samples, 0.25, 0.35), tenths.at(-1)];
    const tenth = Math.ceil(tookMs.length / 10);
    const [first, last] = [p95(tookMs.slice(0, tenth)), p95(tookMs.slice(-tenth))];
    return {
      growth: endMb / afterQuarterMb,
      slower: last / first,
      lines: [
        `${tookMs.length} messages in ${one(seconds)} s`,
        `memory ${one(beforeMb)} MB before, ${tenths.map(one).join(', ')} MB in each tenth, ${one(afterQuarterMb)} MB after the first quarter, ${one(server.residentMb())} MB settled`,
        `p95 ${one(first)} ms in the first tenth, ${one(last)} ms in the last`,
        `processor time of a message ${costBetween(samples, 0, 0.1).toFixed(2)} ms in the first tenth, ${costBetween(samples, 0.9, 1).toFixed(2)} ms in the last`,
      ],
    };
  } finally {
    await server.stop();
    await model.stop();
  }
};
