import { untilAborted } from '../core/async.ts';
import { type HttpClient, HttpClientError, type HttpResponse } from '../core/http/client.ts';
import { headersFor } from './attempt.ts';
import type { DialectChoice } from './detect.ts';
import type { BackendKey } from './key-pool.ts';
import type { Dialect } from './types.ts';

/** Whether a backend would take a question now, and which models it lists. Reasons are our own words. */
export type BackendHealth =
  | { readonly kind: 'up'; readonly models: readonly string[] }
  | { readonly kind: 'down'; readonly reason: string };

export type HealthNeeds = {
  readonly baseUrl: string;
  readonly dialect: DialectChoice;
  readonly httpClient: HttpClient;
};

const ANSWER_LIMIT_BYTES = 4_194_304;

const down = (reason: string): BackendHealth => ({ kind: 'down', reason });

/** Asks for the list of models: the cheapest question that shows host, path and key to be right. Rejects only as the signal does. */
export const checkBackendHealth = async (
  { baseUrl, dialect, httpClient }: HealthNeeds,
  key: BackendKey,
  signal: AbortSignal,
): Promise<BackendHealth> => {
  let spoken: Dialect | undefined;
  let received: HttpResponse;
  try {
    spoken = await untilAborted(dialect.current(), signal);
    if (spoken === undefined) return down('the backend answers neither like Ollama nor like OpenAI');
    const url = baseUrl + spoken.modelsPath;
    received = await httpClient({
      method: 'GET',
      url,
      headers: headersFor(key),
      signal,
      limitBytes: ANSWER_LIMIT_BYTES,
    });
  } catch (error) {
    if (!(error instanceof HttpClientError)) throw error;
    dialect.forget();
    return down(`the backend is not reached (${error.code})`);
  }
  // Another server may have moved in behind the address; a gateway that is not ready hears of it nowhere else.
  if (received.status === 404) dialect.forget();
  if (received.status === 401 || received.status === 403)
    return down(`the backend refuses its key (HTTP ${received.status})`);
  if (received.status !== 200) return down(`the backend answers HTTP ${received.status}`);
  const models = spoken.modelsFrom(received.text);
  return models === undefined ? down('the backend lists no models') : { kind: 'up', models };
};
