import { systemClock } from '../adapter/node/clock.ts';
import { nodeDigest } from '../adapter/node/crypto.ts';
import { usableMemoryBytes } from '../adapter/node/memory.ts';
import { useLibraryResponse } from '../adapter/node/server.ts';
import { isMain, type ProcessContext, runService, type Service, STOP_LIMIT_MS } from '../adapter/node/service.ts';
import { createUndiciClient, readProxySettings } from '../adapter/node/undici-client.ts';
import { createBackendKeys, newId, newNonce } from '../adapter/web-crypto.ts';
import { createLog } from '../core/log.ts';
import { findBackend } from '../gateway/adapter/find-backend.ts';
import { createPrometheusGatewayMetrics } from '../gateway/adapter/prometheus.ts';
import { createViewsThread } from '../gateway/adapter/views/thread.ts';
import { createGateway } from '../gateway/app.ts';
import { readGatewayConfig } from '../gateway/settings/config.ts';
import { unknownGatewayVariables } from '../gateway/settings/variables.ts';
import { showKeyForThisRun } from './gateway/key.ts';
import { policiesOf } from './gateway/policies.ts';
import { readPolicyText } from './gateway/policy-text.ts';
import { openShadowFile } from './gateway/shadow-file.ts';
import { redisStateOf } from './gateway/shared-state.ts';
import { GATEWAY_HELP } from './help.ts';
import { runWithoutArguments } from './program/arguments.ts';
import { openTracing } from './program/tracing.ts';
import { VERSION } from './program/version.ts';

export { createGateway };

const build = async ({ variables, writeLine, isStopping }: ProcessContext): Promise<Service> => {
  const config = readGatewayConfig(variables);
  const { models, settings } = config;
  const gatewayKeys = config.gatewayKeys.length > 0 ? config.gatewayKeys : [showKeyForThisRun()];
  const policyText = await readPolicyText(settings.MODERATION_POLICY_FILE);
  const policies = await policiesOf({ ...config, gatewayKeys }, policyText);
  const { httpClient, close } = createUndiciClient(readProxySettings(variables));
  const backend = await findBackend(config, httpClient);
  const log = createLog({
    level: settings.LOG_LEVEL,
    service: 'gateway',
    clock: systemClock,
    write: writeLine,
  });
  const tracing = await openTracing(
    variables,
    'gateway',
    log,
    async () => (await import('../adapter/opentelemetry/thread/sender.ts')).createThreadSender,
  );
  const shadowFile = await openShadowFile(config, (reason) => log('warn', 'shadow-file', { state: 'lost', reason }));
  const stopping = new AbortController();
  const redis = await redisStateOf({ settings, gatewayKeys }, log);
  const viewsThread = createViewsThread({
    maxChars: settings.MAX_INPUT_CHARS,
    onDied: (reason) => log('warn', 'views-thread-died', { reason }),
  });
  const memoryBytes = usableMemoryBytes();
  const handler = createGateway({
    settings,
    gatewayKeys,
    backend: { ...backend, keys: await createBackendKeys(backend.keys) },
    models,
    policies,
    shadow: config.shadow,
    keepDisagreement: shadowFile?.write,
    stopSignal: stopping.signal,
    httpClient,
    clock: systemClock,
    digest: nodeDigest,
    newId,
    newNonce,
    log,
    metrics: createPrometheusGatewayMetrics({ version: VERSION, isSharedStateUp: redis?.isUp }),
    beginSpan: tracing.beginSpan,
    version: VERSION,
    isStopping,
    // The thread's heap is beside that of the process. It is rarely full.
    memoryBytes: Math.max(memoryBytes / 2, memoryBytes - viewsThread.heapBytes),
    makeViewsElsewhere: viewsThread.makeViews,
    // The operator should learn of an unreachable backend before the first user does. A bug in the check shows at /ready.
    onCreated: (checkReadiness) => void checkReadiness().catch(() => {}),
    ...(redis === undefined ? {} : { shared: redis }),
  });
  log('info', 'starting', {
    version: VERSION,
    backend: backend.kind,
    address: backend.baseUrl,
    count: backend.keys.length,
  });
  return {
    handler,
    host: settings.HOST,
    port: settings.PORT,
    reusePort: settings.REUSE_PORT === 'true',
    log,
    async onStopping() {
      setTimeout(() => stopping.abort(), ANSWERED_AFTER_MS).unref();
    },
    async close() {
      stopping.abort();
      await Promise.all([shadowFile?.flush(), close(), redis?.close(), viewsThread.stop(), tracing.close()]);
    },
  };
};

/** Requests that run this long after a signal are answered with an error, just before their connections are closed. */
const ANSWERED_AFTER_MS = STOP_LIMIT_MS - 200;

const SERVICE = { name: 'gateway', unknownVariables: unknownGatewayVariables };

/** Starts the gateway as this process's service. */
export const main = (): Promise<void> => {
  useLibraryResponse();
  return runService(SERVICE, build);
};

if (isMain(import.meta.url))
  await runWithoutArguments(process.argv.slice(2), { name: 'gateway', help: GATEWAY_HELP, main });
