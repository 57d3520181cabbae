import { get } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { post } from '../agent/client.mjs';

const ORDER = '20 pieces of 8 every 5';
/** What runs after an answer must not be in the way of the next one's first words. */
const REST_MS = 20;

/** Reads events as they come; `onData` is given the data of each. */
const readEvents = async (stream, onData) => {
  let rest = '';
  for await (const bytes of stream) {
    const lines = (rest + Buffer.from(bytes).toString('utf8')).split('\n');
    rest = lines.pop();
    for (const line of lines) if (line.startsWith('data: ')) onData(line.slice(6));
  }
};

/** How long a bridge takes to the first words of an answer. */
const bridgedMs = async (bridge, sessionName) => {
  const startedAtMs = performance.now();
  const response = await fetch(`http://127.0.0.1:${bridge.port}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-session-id': sessionName },
    body: JSON.stringify({ stream: true, messages: [{ role: 'user', content: ORDER }] }),
  });
  if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`);
  let firstMs;
  await readEvents(response.body, (data) => {
    if (data === '[DONE]') return;
    const { choices, error } = JSON.parse(data);
    if (error !== undefined) throw new Error(error.message);
    if ((choices[0]?.delta?.content ?? '') !== '') firstMs ??= performance.now() - startedAtMs;
  });
  return firstMs;
};

/** The agent's own events, on one connection for all calls. */
const listenTo = async (agent) => {
  let onDelta = () => {};
  const stream = await new Promise((resolve, reject) => {
    get({ host: '127.0.0.1', port: agent.port, path: '/event', agent: false }, resolve).on('error', reject);
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

const directMs = async (agent, id, listening) => {
  const first = listening.nextDelta();
  const startedAtMs = performance.now();
  const body = JSON.stringify({ parts: [{ type: 'text', text: ORDER }] });
  const answered = post(agent.port, `/session/${id}/message`, body);
  await first;
  const firstMs = performance.now() - startedAtMs;
  await answered;
  return firstMs;
};

/**
 * The times in ms to the first words of the agent itself and of each bridge before it, each way in turn, in sessions that are
 * there already.
 */
export const measureFirstWords = async ({ agent, bridges, rounds, calls }) => {
  const listening = await listenTo(agent);
  const told = { direct: [], bridged: bridges.map(() => []) };
  for (let round = 0; round <= rounds; round++) {
    const { id } = JSON.parse((await post(agent.port, '/session', '{"title":"bench"}')).text);
    const ways = [
      async () => [told.direct, await directMs(agent, id, listening)],
      ...bridges.map((bridge, index) => async () => [
        told.bridged[index],
        await bridgedMs(bridge, `round-${round}-${index}`),
      ]),
    ];
    for (const way of ways) await way();
    for (let call = 0; call < calls; call++) {
      for (const index of ways.keys()) {
        const [times, tookMs] = await ways[(index + call) % ways.length]();
        // The first round warms up.
        if (round > 0) times.push(tookMs);
        await pause(REST_MS);
      }
    }
  }
  listening.leave();
  return told;
};
