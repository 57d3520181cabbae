import { resolve } from 'node:path';
import { systemClock } from '../adapter/node/clock.ts';
import { nodeHexDigest } from '../adapter/node/crypto.ts';
import { createSchemaCompiler } from '../adapter/node/json-schema.ts';
import { usableMemoryBytes } from '../adapter/node/memory.ts';
import { isMain, type ProcessContext, runService, type Service } from '../adapter/node/service.ts';
import { newId, randomBytes } from '../adapter/web-crypto.ts';
import { createAgentCatalog } from '../agent/agents/from-config.ts';
import { createAgentServer } from '../agent/app.ts';
import { readAgentConfig } from '../agent/config/load.ts';
import {
  createAgentList,
  createCommandList,
  createConfigProviders,
  createProviderList,
} from '../agent/config/views.ts';
import { createIds } from '../agent/protocol/ids.ts';
import { readAgentSettings, unknownAgentVariables } from '../agent/settings.ts';
import { isStoreFailure } from '../agent/store/errors.ts';
import { createMcpServers } from '../agent/tools/mcp/servers.ts';
import { ConfigError, collectProblems } from '../core/config.ts';
import { isLoopback } from '../core/http/auth.ts';
import { createLog } from '../core/log.ts';
import { createTimeSlices } from '../core/time-slices.ts';
import { loadOnce } from './agent/deferred.ts';
import { createDeferredMetrics } from './agent/deferred-metrics.ts';
import { createAgentFetch } from './agent/fetch.ts';
import { openAgentStore } from './agent/store.ts';
import { createCommandLookup } from './agent/tool-commands.ts';
import { AGENT_HELP } from './help.ts';
import { runWithoutArguments } from './program/arguments.ts';
import { readIfPresent } from './program/read-file.ts';
import { openTracing } from './program/tracing.ts';
import { VERSION } from './program/version.ts';

/** When the SDK of the models and the metrics library are loaded after the start, unless a request needs them before. Loading blocks the process. */
const PRELOAD_AFTER_MS = 1000;

/** How long the results of client tools are waited for: a day. */
const CLIENT_TOOL_TIMEOUT_MS = 86_400_000;

/** A process has ten seconds to stop. The rest of them is for aborting what does not end, and for the streams. */
const DRAIN_MS = 5000;

/** Of an error that is not our own only the name: its message may hold anything. */
const reasonOf = (error: unknown): string =>
  isStoreFailure(error) ? error.message : error instanceof Error ? error.name : typeof error;

const build = async ({ variables, writeLine }: ProcessContext): Promise<Service> => {
  const problems: string[] = [];
  const settings = collectProblems(() => readAgentSettings(variables), problems);
  const config = collectProblems(() => readAgentConfig(variables, readIfPresent), problems);
  const outward = await createAgentFetch(variables, problems);
  if (settings === undefined || config === undefined || problems.length > 0) throw new ConfigError(problems);
  const clock = systemClock;
  const log = createLog({ level: settings.logLevel, service: 'agent', clock, write: writeLine });
  const tracing = await openTracing(
    variables,
    'agent',
    log,
    async () => (await import('../adapter/opentelemetry/sender.ts')).createSender,
  );
  const ids = createIds(clock, randomBytes);
  const { store, peers, close } = await openAgentStore(settings.database, {
    ids,
    leaseMs: settings.leaseMs,
    onError: (error) => log('warn', 'store-trouble', { reason: reasonOf(error) }),
    onMade: (reason) => log('info', 'store-created', { setting: 'AGENT_DATABASE_URL', reason }),
  });
  const directory = resolve('.');
  const models = loadOnce(async () => {
    const { createAiModel } = await import('../agent/model/ai-sdk.ts');
    return createAiModel({
      fetcher: await outward.models(),
      clock,
      version: VERSION,
      limitsFor: (providerID) => config.providers.get(providerID)?.limits,
      onUnsupported: (reason) => log('warn', 'setting-without-effect', { reason }),
    });
  });
  const { metrics, load: loadMeter } = createDeferredMetrics(
    loadOnce(async () => {
      const { createPrometheusAgentMetrics } = await import('../agent/adapter/prometheus.ts');
      return createPrometheusAgentMetrics(VERSION);
    }),
  );
  const transports = loadOnce(async () => {
    const { createMcpTransports } = await import('../agent/adapter/mcp/transports.ts');
    return createMcpTransports({ httpFetch: outward.tools, commandLookup: createCommandLookup(variables) });
  });
  const server = createAgentServer({
    clock,
    log,
    ids,
    newId,
    runInSlices: createTimeSlices(clock),
    chance: Math.random,
    digest: nodeHexDigest,
    compileSchema: createSchemaCompiler(),
    version: VERSION,
    directory,
    credentials: settings.credentials,
    isForThisMachine: isLoopback(settings.host),
    store,
    peers,
    catalog: createAgentCatalog(config, settings.credentials === undefined ? [] : [settings.credentials.password]),
    configViews: {
      config: config.redacted,
      provider: createProviderList(config),
      configProviders: createConfigProviders(config),
      agent: createAgentList(config),
      command: createCommandList(config),
    },
    async *model(...asked) {
      yield* (await models())(...asked);
    },
    mcp: (publish) =>
      createMcpServers({
        servers: Object.fromEntries(config.mcp),
        transports,
        clock,
        chance: Math.random,
        version: VERSION,
        directory,
        log,
        publish,
      }),
    outputLimits: config.toolOutput,
    permissionTimeoutMs: config.permissionTimeoutMs,
    permissionOnceOnly: config.permissionOnceOnly,
    turnTimeoutMs: config.turnTimeoutMs,
    clientToolTimeoutMs: CLIENT_TOOL_TIMEOUT_MS,
    drainMs: DRAIN_MS,
    memory: { limitBytes: settings.bodyLimitBytes, memoryBytes: usableMemoryBytes() },
    retention: settings.retention,
    metrics,
    beginSpan: tracing.beginSpan,
  });
  log('info', 'starting', {
    version: VERSION,
    model: `${config.defaultModel.providerID}/${config.defaultModel.modelID}`,
  });
  for (const reason of config.warnings) log('warn', 'setting-without-effect', { reason });
  if (settings.isLocalWithoutPassword) {
    log('warn', 'this-machine-only', {
      reason: 'no AGENT_SERVER_PASSWORD is set; set one to listen on all addresses',
    });
  }
  return {
    handler: server.handler,
    host: settings.host,
    port: settings.port,
    log,
    onListening() {
      clock.after(PRELOAD_AFTER_MS, () => {
        void models().catch(() => {});
        loadMeter();
      });
      server.start().catch((error: unknown) => {
        log('error', 'start-failed', { reason: reasonOf(error) });
        process.exitCode = 1;
        process.kill(process.pid, 'SIGTERM');
      });
    },
    onStopping: server.stop,
    async close() {
      await Promise.all([close(), outward.close(), tracing.close()]);
    },
  };
};

/** Starts the agent server as this process's service. */
export const main = (): Promise<void> => runService({ name: 'agent', unknownVariables: unknownAgentVariables }, build);

if (isMain(import.meta.url))
  await runWithoutArguments(process.argv.slice(2), { name: 'agent', help: AGENT_HELP, main });
