import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { freePort, startServer } from '../process.mjs';

const PARALLEL_WARM = 200;
const SETTLE_MS = 5000;
const EXPECTED = 'The bench model says the same to everyone.';
const QUESTION = JSON.stringify({ parts: [{ type: 'text', text: 'What do you say?' }] });

const configFor = (modelUrl) =>
  JSON.stringify({
    model: 'bench/main',
    small_model: 'bench/main',
    provider: {
      bench: {
        npm: '@ai-sdk/openai-compatible',
        options: { baseURL: `${modelUrl}/v1`, apiKey: 'none' },
        models: { main: { name: 'Main', limit: { context: 100_000, output: 8000 } } },
      },
    },
  });
const at = (sorted, share) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
const p95 = (times) =>
  at(
    [...times].sort((left, right) => left - right),
    0.95,
  );
const one = (number) => number.toFixed(1);

/** Starts a fake model and an agent server on the store at `url`, has all of it said, and tells what that took. */
export const startSoaked = async ({ url, sessions, messages, parallel, directory, settleMs = SETTLE_MS }) => {
  const [modelPort, port] = [await freePort(), await freePort()];
  const root = join(import.meta.dirname, '../..');
  const model = await startServer({
    args: [join(import.meta.dirname, 'fake-chat.mjs')],
    env: { PORT: String(modelPort) },
    readyPath: '/health',
    port: modelPort,
  });
  const server = await startServer({
    args: [join(root, 'dist/agent.js')],
    env: {
      PORT: String(port),
      HOST: '127.0.0.1',
      LOG_LEVEL: 'error',
      AGENT_ALLOW_ANONYMOUS: 'true',
      AGENT_CONFIG_CONTENT: configFor(`http://127.0.0.1:${modelPort}`),
      AGENT_DATABASE_URL: url,
    },
    directory,
    readyPath: '/ready',
    port,
  });
  const post = async (path, body) => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
    });
    const text = await response.text();
    if (response.status !== 200) throw new Error(`${path} was answered with ${response.status}`);
    return text;
  };
  const run = async (count) => {
    const tookMs = [];
    const quartersMb = [];
    let begun = 0;
    const lane = async () => {
      while (begun < count) {
        begun += 1;
        const { id } = JSON.parse(await post('/session', '{"title":"soak"}'));
        for (let message = 0; message < messages; message++) {
          const startedAt = performance.now();
          const text = await post(`/session/${id}/message`, QUESTION);
          if (!text.includes(EXPECTED)) throw new Error('an unexpected answer');
          tookMs.push(performance.now() - startedAt);
          if (tookMs.length % Math.ceil((count * messages) / 4) === 0) quartersMb.push(server.residentMb());
        }
      }
    };
    await Promise.all(Array.from({ length: parallel }, lane));
    return { tookMs, quartersMb };
  };
  try {
    // What is loaded and compiled once is not growth.
    await run(Math.min(PARALLEL_WARM, Math.ceil(sessions / 4)));
    await pause(settleMs);
    const beforeMb = server.residentMb();
    const startedAt = performance.now();
    const { tookMs, quartersMb } = await run(sessions);
    const seconds = (performance.now() - startedAt) / 1000;
    await pause(settleMs);
    const afterMb = server.residentMb();
    const tenth = Math.ceil(tookMs.length / 10);
    const [first, last] = [p95(tookMs.slice(0, tenth)), p95(tookMs.slice(-tenth))];
    // In the first half the runtime still finds the room that it is at ease with.
    const growthMb = afterMb - (quartersMb[1] ?? beforeMb);
    return {
      growthMb,
      slower: last / first,
      tookMs,
      lines: [
        `${tookMs.length} messages in ${one(seconds)} s`,
        `memory ${one(beforeMb)} MB before, ${quartersMb.map(one).join(', ')} MB after each quarter, ${one(afterMb)} MB settled (${one(growthMb)} MB more than at half)`,
        `p95 ${one(first)} ms in the first tenth, ${one(last)} ms in the last (${(last / first).toFixed(2)} times)`,
      ],
    };
  } finally {
    await server.stop();
    await model.stop();
  }
};
