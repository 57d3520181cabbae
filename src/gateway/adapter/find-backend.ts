import { systemClock } from '../../adapter/node/clock.ts';
import { createDeadline } from '../../core/async.ts';
import { ConfigError } from '../../core/config.ts';
import type { HttpClient } from '../../core/http/client.ts';
import type { BackendSettings, GatewayConfig } from '../settings/config.ts';

const LOCAL_OLLAMA = 'http://127.0.0.1:11434';
const PROBE_LIMIT_MS = 1000;

/** The error when no backend is configured: three ways to get one. */
const NO_BACKEND = [
  'BACKEND_BASE_URL: expected a backend, and none is set. Set one of:',
  '  cloud:        BACKEND_API_KEYS=<keys of https://ollama.com, separated by commas>',
  '  self-hosted:  BACKEND_BASE_URL=http://<host>:<port> of an Ollama, vLLM, llama.cpp or SGLang server',
  '  to try it:    npm run demo (or: gatehouse demo) starts a gateway with a demo judge',
];

const isAnswering = async (httpClient: HttpClient): Promise<boolean> => {
  const { signal, clear } = createDeadline(systemClock, PROBE_LIMIT_MS);
  try {
    const url = `${LOCAL_OLLAMA}/api/version`;
    const { status } = await httpClient({ method: 'GET', url, headers: {}, signal, limitBytes: 10_000 });
    return status === 200;
  } catch {
    return false;
  } finally {
    clear();
  }
};

/** The configured backend, or in development an Ollama on this machine. Throws a `ConfigError` that lists ways to get one. */
export const findBackend = async (
  { backend, settings }: GatewayConfig,
  httpClient: HttpClient,
): Promise<BackendSettings> => {
  if (backend !== undefined) return backend;
  if (settings.APP_ENV === 'development' && (await isAnswering(httpClient))) {
    return { kind: 'self-hosted', baseUrl: LOCAL_OLLAMA, keys: [], dialect: 'ollama' };
  }
  throw new ConfigError(NO_BACKEND);
};
