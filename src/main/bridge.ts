import { systemClock } from '../adapter/node/clock.ts';
import { createNodeHash, nodeDigest, nodeHexDigest } from '../adapter/node/crypto.ts';
import { createNodeHttpClient, createNodeHttpStream } from '../adapter/node/http-client.ts';
import { createSchemaCompiler } from '../adapter/node/json-schema.ts';
import { usableMemoryBytes } from '../adapter/node/memory.ts';
import { isMain, type ProcessContext, runService, type Service } from '../adapter/node/service.ts';
import { newId } from '../adapter/web-crypto.ts';
import { createPrometheusBridgeMetrics } from '../bridge/adapter/prometheus.ts';
import { createAgentCalls } from '../bridge/agent/calls.ts';
import { createAgentClient } from '../bridge/agent/client.ts';
import { createAgentTransport } from '../bridge/agent/servers.ts';
import { createBridge } from '../bridge/app.ts';
import { readBridgeSettings, unknownBridgeVariables } from '../bridge/settings.ts';
import { createAgentTurns } from '../bridge/turns/agent/turns.ts';
import { createChosenTurns } from '../bridge/turns/choice.ts';
import { createOpenCodeTurns } from '../bridge/turns/opencode/turns.ts';
import { isLoopback } from '../core/http/auth.ts';
import { createLog } from '../core/log.ts';
import type { Runtime } from '../core/runtime.ts';
import { beginAtOnce, createTimeSlices } from '../core/time-slices.ts';
import { BRIDGE_HELP } from './help.ts';
import { runWithoutArguments } from './program/arguments.ts';
import { readIfPresent } from './program/read-file.ts';
import { openTracing } from './program/tracing.ts';
import { VERSION } from './program/version.ts';

export { createBridge };

/** With several agent servers, an unreachable one is given up after this time. */
const CONNECT_LIMIT_MS = 2000;

const build = async ({ variables, writeLine, isStopping }: ProcessContext): Promise<Service> => {
  const settings = readBridgeSettings(variables, readIfPresent);
  const clock = systemClock;
  const log = createLog({ level: settings.logLevel, service: 'bridge', clock, write: writeLine });
  const tracing = await openTracing(
    variables,
    'bridge',
    log,
    async () => (await import('../adapter/opentelemetry/sender.ts')).createSender,
  );
  const { baseUrls } = settings.agent;
  const limits = baseUrls.length > 1 ? { connectLimitMs: CONNECT_LIMIT_MS } : {};
  const { httpClient, close } = createNodeHttpClient(limits);
  const stream = createNodeHttpStream(limits);
  const transport = createAgentTransport({ ...settings.agent, httpClient, stream, clock, log });
  const runtime: Runtime = { clock, log, newId, runInSlices: beginAtOnce(createTimeSlices(clock)) };
  const callAgent = createAgentCalls({ ...runtime, transport });
  const needs = { ...runtime, transport, callAgent, chance: Math.random, digest: nodeHexDigest };
  const turns = createChosenTurns({
    ...needs,
    own: createAgentTurns(needs),
    createOther: () => createOpenCodeTurns(needs),
  });
  const bridge = createBridge({
    settings,
    isForThisMachine: isLoopback(settings.host),
    agent: createAgentClient(callAgent),
    turns,
    servers: transport.servers,
    ...runtime,
    meter: createPrometheusBridgeMetrics(VERSION),
    beginSpan: tracing.beginSpan,
    digest: nodeDigest,
    newHash: createNodeHash,
    compileSchema: createSchemaCompiler(),
    version: VERSION,
    isStopping,
    memoryBytes: usableMemoryBytes(),
  });
  log('info', 'starting', { version: VERSION, address: baseUrls.join(', ') });
  if (settings.isLocalWithoutKeys) {
    log('warn', 'this-machine-only', {
      reason: 'no BRIDGE_API_KEYS are set; set one to listen on all addresses',
    });
  }
  const { host, port } = settings;
  return {
    handler: bridge.handler,
    host,
    port,
    log,
    async onStopping() {
      await bridge.stop();
      turns.stop();
    },
    close: async () => void (await Promise.all([close(), tracing.close()])),
  };
};

/** Starts the bridge as this process's service. */
export const main = (): Promise<void> =>
  runService({ name: 'bridge', unknownVariables: unknownBridgeVariables }, build);

if (isMain(import.meta.url))
  await runWithoutArguments(process.argv.slice(2), { name: 'bridge', help: BRIDGE_HELP, main });
