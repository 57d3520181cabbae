import { systemClock } from '../adapter/node/clock.ts';
import { createBackendKeys, newId, newNonce, webDigest } from '../adapter/web-crypto.ts';
import { ConfigError, logUnknownVariables, type Variables } from '../core/config.ts';
import { httpClientOverFetch } from '../core/http/client.ts';
import type { Handler } from '../core/http/handler.ts';
import { createLog } from '../core/log.ts';
import { findBackend } from '../gateway/adapter/find-backend.ts';
import { createWorkerModule } from '../gateway/adapter/worker.ts';
import { createGateway } from '../gateway/app.ts';
import { SILENT_GATEWAY_METRICS } from '../gateway/metrics.ts';
import { readGatewayConfig } from '../gateway/settings/config.ts';
import { unknownGatewayVariables } from '../gateway/settings/variables.ts';
import { policiesOf } from './gateway/policies.ts';
import { VERSION } from './program/version.ts';

/** What Cloudflare gives an isolate. */
const MEMORY_BYTES = 128 * 1024 * 1024;

const UNSUPPORTED = ['REDIS_URL', 'MODERATION_POLICY_FILE'];

const build = async (variables: Variables): Promise<Handler> => {
  const config = readGatewayConfig(variables);
  const stray = UNSUPPORTED.filter((name) => (variables[name] ?? '') !== '');
  if (stray.length > 0)
    throw new ConfigError(
      stray.map(
        (name) =>
          `${name}: not available in this runtime, expected none${name === 'REDIS_URL' ? '' : '; MODERATION_POLICY takes the text of the file'}`,
      ),
    );
  if (config.shadow?.file !== undefined)
    throw new ConfigError(['MODERATION_SHADOW: file: not available in this runtime, expected none']);
  if (config.gatewayKeys.length === 0)
    throw new ConfigError(['MODERATION_API_KEYS: expected at least one gateway key']);
  const policies = await policiesOf(config);
  const httpClient = httpClientOverFetch((...sent) => fetch(...sent));
  const backend = await findBackend(config, httpClient);
  const log = createLog({
    level: config.settings.LOG_LEVEL,
    service: 'gateway',
    clock: systemClock,
    write: console.error,
  });
  logUnknownVariables(unknownGatewayVariables(variables), log);
  return createGateway({
    ...config,
    backend: { ...backend, keys: await createBackendKeys(backend.keys) },
    policies,
    httpClient,
    clock: systemClock,
    digest: webDigest,
    newId,
    newNonce,
    log,
    metrics: SILENT_GATEWAY_METRICS,
    version: VERSION,
    isStopping: () => false,
    memoryBytes: MEMORY_BYTES,
  });
};

export default createWorkerModule(build, unknownGatewayVariables);
