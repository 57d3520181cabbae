import type { Bridge } from '../../../src/bridge/app.ts';
import type { BridgeReadings } from '../../../src/bridge/metrics.ts';

/**
 * How many bridges stand behind a round-robin in the worlds of this process: one, unless `BRIDGES` says more. A suite for one
 * bridge runs with two of them as `BRIDGES=2 npx node test/run.mjs test bridge/service/retries`.
 */
export const bridgeCount = (): number => Number(process.env.BRIDGES ?? 1);

/** Takes one after the other, again and again. */
export const roundRobin = <T>(all: readonly [T, ...T[]]): (() => T) => {
  let turn = 0;
  return () => {
    const one = all[turn % all.length] ?? all[0];
    turn += 1;
    return one;
  };
};

/** Several bridges as one. Each request goes to the next of them, so that a client meets another one each time. */
export const behindRoundRobin = (bridges: readonly [Bridge, ...Bridge[]]): Bridge => {
  const next = roundRobin(bridges);
  return {
    handler: (request) => next().handler(request),
    async stop() {
      await Promise.all(bridges.map((bridge) => bridge.stop()));
    },
  };
};

/** What all bridges hold together. */
export const sumReadings = (all: readonly BridgeReadings[]): BridgeReadings => {
  const sum = (read: (readings: BridgeReadings) => number): number =>
    all.reduce((total, readings) => total + read(readings), 0);
  return {
    answersRunning: sum(({ answersRunning }) => answersRunning),
    streamsResumed: sum(({ streamsResumed }) => streamsResumed),
    bytesInFlight: sum(({ bytesInFlight }) => bytesInFlight),
    isAgentConnected: all.length > 0 && all.every(({ isAgentConnected }) => isAgentConnected),
    agentServers: all[0]?.agentServers ?? { total: 0, healthy: 0 },
  };
};
