import { ask } from '../process.mjs';

const RUN_LIMIT_MS = 120_000;
const SAMPLE_MS = 250;
const SHORT = '4 pieces of 8 every 0';
/** What the pacing of the default settings lets through: 4 graphemes every 10 ms. */
const PIECE_CHARS = 10;
const PIECE_MS = 25;

/** Has the load read so many streams of a server at once, or `parallel` at a time. */
const readStreams = async (load, server, { streams, name, order, parallel = streams }) => {
  const job = new URLSearchParams({ port: server.port, streams, name, order, parallel });
  const { status, text } = await ask(load.port, `/run?${job}`, RUN_LIMIT_MS);
  if (status !== 200) throw new Error(`streams failed: ${text || `no end within ${RUN_LIMIT_MS} ms`}`);
  return JSON.parse(text);
};

/** The processor time of a chunk in microseconds, of four streams without pacing. */
export const chunkCost = async ({ load, server, name, pieces }) => {
  const before = server.cpuMs();
  const { events } = await readStreams(load, server, { streams: 4, name, order: `${pieces} pieces of 4 every 1` });
  return ((server.cpuMs() - before) * 1000) / events;
};

/** Holds so many conversations of one short answer each. */
export const holdConversations = (load, bridge, count, name = 'idle') =>
  readStreams(load, bridge, { streams: count, name, order: SHORT, parallel: 20 });

/**
 * Many streams at the pace of the default settings: the share of a core that they need to be on time (more than 1: they cannot
 * be), by how much the last of them ends late and how much of that is the agent's delay, chunks of a stream in a second, and the
 * largest resident memory meanwhile.
 */
export const pacedStreams = async ({ load, agent, bridge, streams, seconds, name }) => {
  const latestMs = async () => JSON.parse((await ask(agent.port, '/bench/late')).text).latestMs;
  await latestMs();
  const before = bridge.cpuMs();
  let residentMb = 0;
  const sampling = setInterval(() => {
    residentMb = Math.max(residentMb, bridge.residentMb());
  }, SAMPLE_MS);
  const pieces = (seconds * 1000) / PIECE_MS;
  const order = `${pieces} pieces of ${PIECE_CHARS} every ${PIECE_MS}`;
  const { slowestMs, events, failures } = await readStreams(load, bridge, { streams, name, order });
  clearInterval(sampling);
  const agentLateMs = await latestMs();
  return {
    share: (bridge.cpuMs() - before) / (seconds * 1000),
    lateMs: slowestMs - (pieces - 1) * PIECE_MS,
    agentLateMs,
    chunksPerSecond: events / (streams - failures) / seconds,
    failures,
    residentMb,
  };
};
