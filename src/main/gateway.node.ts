import { readFile } from 'node:fs/promises';
import { systemClock } from '../adapter/node/clock.ts';
import { nodeDigest } from '../adapter/node/crypto.ts';
import { usableMemoryBytes } from '../adapter/node/memory.ts';
import { isMain, type ProcessContext, runService, type Service } from '../adapter/node/service.ts';
import { createUndiciClient, readProxySettings } from '../adapter/node/undici-client.ts';
import { createViewsThread } from '../adapter/node/views/thread.ts';
import { createPrometheusGatewayMetrics } from '../adapter/prometheus/gateway.ts';
import { createBackendKeys, newId, newNonce } from '../adapter/web/crypto.ts';
import { findBackend } from '../adapter/web/find-backend.ts';
import { ConfigError } from '../core/config.ts';
import { createLog, type Log } from '../core/log.ts';
import { createGateway } from '../gateway/app.ts';
import { DEFAULT_POLICY, parsePolicy } from '../gateway/policy/policy.ts';
import { readGatewayConfig, unknownGatewayVariables } from '../gateway/settings.ts';
import { runWithoutArguments } from './arguments.ts';
import { GATEWAY_HELP } from './help.ts';
import { VERSION } from './version.ts';

export { createGateway };

const readPolicy = async (file: string | undefined) => {
  if (file === undefined) return DEFAULT_POLICY;
  const text = await readFile(file, 'utf8').catch(() => {
    throw new ConfigError(['MODERATION_POLICY_FILE: expected the path of a file that can be read']);
  });
  return parsePolicy(text);
};

/** For development without a key: made for this run and shown once, outside the log. */
const keyForThisRun = (): string => {
  const key = `dev-${newId()}`;
  process.stderr.write(`gatehouse gateway: no MODERATION_API_KEYS are set; the key of this run is ${key}\n`);
  return key;
};

/** The client library is a third of the bundle: it is only loaded where there is a Redis. */
const sharedStateAt = async (url: string | undefined, log: Log) => {
  if (url === undefined) return undefined;
  const { createRedisState } = await import('../adapter/redis/shared-state.ts');
  return createRedisState({ url, log });
};

const build = async ({ variables, writeLine, isStopping }: ProcessContext): Promise<Service> => {
  const config = readGatewayConfig(variables);
  const { settings, models } = config;
  const policy = await readPolicy(settings.MODERATION_POLICY_FILE);
  const { httpClient, close } = createUndiciClient(readProxySettings(variables));
  const backend = await findBackend(config, httpClient);
  const log = createLog({ level: settings.LOG_LEVEL, service: 'gateway', clock: systemClock, write: writeLine });
  const shared = await sharedStateAt(settings.REDIS_URL, log);
  const meter = createPrometheusGatewayMetrics({ version: VERSION, isSharedStateUp: shared?.isUp });
  const viewsThread = createViewsThread({
    maxChars: settings.MAX_INPUT_CHARS,
    onDied: (reason) => log('warn', 'views-thread-died', { reason }),
  });
  const handler = createGateway({
    settings,
    gatewayKeys: config.gatewayKeys.length > 0 ? config.gatewayKeys : [keyForThisRun()],
    backend: { ...backend, keys: await createBackendKeys(backend.keys) },
    models,
    policy,
    httpClient,
    clock: systemClock,
    digest: nodeDigest,
    newId,
    newNonce,
    log,
    metrics: meter,
    version: VERSION,
    isStopping,
    memoryBytes: usableMemoryBytes(),
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
    async close() {
      await Promise.all([close(), shared?.close(), viewsThread.stop()]);
    },
  };
};

/** Starts the gateway as this process's service. */
export const main = (): Promise<void> =>
  runService({ name: 'gateway', unknownVariables: unknownGatewayVariables }, build);

if (isMain(import.meta.url))
  await runWithoutArguments(process.argv.slice(2), { name: 'gateway', help: GATEWAY_HELP, main });
