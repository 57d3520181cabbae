import { fileURLToPath } from 'node:url';
import { systemClock } from '../adapter/node/clock.ts';
import { nodeDigest } from '../adapter/node/crypto.ts';
import { usableMemoryBytes } from '../adapter/node/memory.ts';
import { isMain, type ProcessContext, runService, STOP_LIMIT_MS } from '../adapter/node/service.ts';
import { createUndiciClient, readProxySettings } from '../adapter/node/undici-client.ts';
import { createViewsThread } from '../adapter/node/views/thread.ts';
import { readPlace } from '../adapter/node/workers/place.ts';
import type { WorkerState } from '../adapter/node/workers/shared-state.ts';
import { createPrometheusGatewayMetrics } from '../adapter/prometheus/gateway.ts';
import { createBackendKeys, newId, newNonce } from '../adapter/web/crypto.ts';
import { findBackend } from '../adapter/web/find-backend.ts';
import { createLog } from '../core/log.ts';
import { createGateway } from '../gateway/app.ts';
import { readGatewayConfig } from '../gateway/settings/config.ts';
import { unknownGatewayVariables } from '../gateway/settings/variables.ts';
import { asksForWorkers, settingsOfWorker, type WorkerPlace } from '../gateway/settings/workers.ts';
import { showKeyForThisRun } from './gateway/key.ts';
import { policiesOf } from './gateway/policies.ts';
import { readPolicyText } from './gateway/policy-text.ts';
import { openShadowFile } from './gateway/shadow-file.ts';
import { redisStateOf, sharedStateOf } from './gateway/shared-state.ts';
import { GATEWAY_HELP } from './help.ts';
import { runWithoutArguments } from './program/arguments.ts';
import { openTracing } from './program/tracing.ts';
import { VERSION } from './program/version.ts';

export { createGateway };

/** A worker process, and what it shares with the others. */
type WorkerParts = { readonly place: WorkerPlace; readonly state: WorkerState };

/** Builds the gateway for this process: the whole one, or one of its workers. */
const build = async ({ variables, writeLine, isStopping }: ProcessContext, worker?: WorkerParts) => {
  const config = readGatewayConfig(variables);
  const { models } = config;
  const settings = worker === undefined ? config.settings : settingsOfWorker(config.settings, worker.place);
  const gatewayKeys = config.gatewayKeys.length > 0 ? config.gatewayKeys : [showKeyForThisRun()];
  const { MODERATION_POLICY_FILE: policyFile } = settings;
  // A worker that replaces another must not judge by a file that has changed since.
  const readsFile = worker === undefined || policyFile === undefined;
  const policyText = await (readsFile ? readPolicyText(policyFile) : worker.state.policyText());
  const policies = await policiesOf({ ...config, gatewayKeys }, policyText);
  const { httpClient, close } = createUndiciClient(readProxySettings(variables));
  const backend = await findBackend(config, httpClient);
  const log = createLog({
    level: settings.LOG_LEVEL,
    service: 'gateway',
    clock: systemClock,
    worker: worker?.place.number,
    write: writeLine,
  });
  const tracing = await openTracing(
    variables,
    'gateway',
    log,
    async () => (await import('../adapter/opentelemetry/thread/sender.ts')).createThreadSender,
  );
  const shadowFile = await openShadowFile(config, worker?.place, (reason) =>
    log('warn', 'shadow-file', { state: 'lost', reason }),
  );
  const stopping = new AbortController();
  const redis = await redisStateOf({ settings, gatewayKeys }, log);
  const shared = sharedStateOf(redis, worker?.state);
  const { families, ...meter } = createPrometheusGatewayMetrics({ version: VERSION, isSharedStateUp: redis?.isUp });
  const viewsThread = createViewsThread({
    maxChars: settings.MAX_INPUT_CHARS,
    onDied: (reason) => log('warn', 'views-thread-died', { reason }),
  });
  const memoryBytes = usableMemoryBytes(worker?.place.of);
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
    metrics: worker === undefined ? meter : { ...meter, text: worker.state.metricsText },
    beginSpan: tracing.beginSpan,
    version: VERSION,
    isStopping,
    // The thread's heap is beside that of the process. It is rarely full.
    memoryBytes: Math.max(memoryBytes / 2, memoryBytes - viewsThread.heapBytes),
    makeViewsElsewhere: viewsThread.makeViews,
    // The operator should learn of an unreachable backend before the first user does. A bug in the check shows at /ready.
    onCreated: (checkReadiness) => void checkReadiness().catch(() => {}),
    ...(shared === undefined ? {} : { shared }),
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
    log,
    directPaths: ['/v1/moderations', '/v1/chat/completions'],
    families,
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

/** Starts the gateway as this process's service, as one of its workers, or as the process that watches those. */
export const main = async (): Promise<void> => {
  const place = readPlace(process.env);
  // The usual start loads none of what several processes need.
  if (place === undefined && !asksForWorkers(process.env)) return runService(SERVICE, build);
  const { runGatewayWorker, watchGatewayWorkers } = await import('./gateway/workers.ts');
  if (place !== undefined) return runGatewayWorker(process.env, place, build);
  return runService(SERVICE, (context) => watchGatewayWorkers(context, fileURLToPath(import.meta.url), build));
};

if (isMain(import.meta.url))
  await runWithoutArguments(process.argv.slice(2), { name: 'gateway', help: GATEWAY_HELP, main });
