import { HttpClientError, type HttpResponse } from '../core/http/client.ts';
import { headersFor } from './attempt.ts';
import { BACKEND_BUSY, type Backend, currentDialect } from './detect.ts';
import type { BackendKey } from './key-state.ts';
import { detectKnownError } from './known-errors.ts';
import type { Dialect } from './types.ts';

/** Whether a backend would accept a call now, and which models it lists. Reasons never quote the backend. */
export type BackendHealth =
  | { readonly kind: 'up'; readonly models: readonly string[] }
  | { readonly kind: 'down'; readonly reason: string };

const ANSWER_LIMIT_BYTES = 4_194_304;

const IS_BUSY = 'the backend is loading its model, or has no room for further requests';

/** What an operator looks at first, by the code of a failed connection. */
const HINTS: readonly (readonly [code: RegExp, hint: string])[] = [
  [/^ECONNREFUSED$/, 'nothing listens at its address; in a container 127.0.0.1 is the container itself'],
  [/^(?:ENOTFOUND|EAI_AGAIN)$/, 'its host name is unknown here'],
  [
    /^(?:CONNECT_TIMEOUT|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH)$/,
    'no way leads to its address: a firewall or a proxy may be in between',
  ],
  [/WRONG_VERSION_NUMBER|EPROTO/, 'it does not speak TLS; is its address http in place of https?'],
  [/ALTNAME_INVALID$/, 'its certificate is for another host name than the one in BACKEND_BASE_URL'],
  [/^CERT_(?:HAS_EXPIRED|NOT_YET_VALID)$/, 'its certificate has expired or is not valid yet, by the clock here'],
  [/SELF_SIGNED|^UNABLE_TO_/, 'its certificate is not trusted here; NODE_EXTRA_CA_CERTS names further authorities'],
  [/^OLLAMA_WITHOUT_ITS_API$/, 'of an Ollama only /v1 is reached, where it cuts long prompts; let /api through'],
];

const unreached = (code: string): string => {
  const status = /^HTTP_(\d{3})$/.exec(code)?.[1];
  if (status !== undefined) return `the backend answers HTTP ${status}`;
  const hint = HINTS.find(([pattern]) => pattern.test(code))?.[1];
  return `the backend is not reached (${code})${hint === undefined ? '' : `: ${hint}`}`;
};

const down = (reason: string): BackendHealth => ({ kind: 'down', reason });

/**
 * Requests the list of models: the cheapest request that proves host, path and key to be right. Rejects only with the
 * signal's reason.
 */
export const checkBackendHealth = async (
  { baseUrl, dialect, httpClient }: Omit<Backend, 'clock'>,
  key: BackendKey,
  signal: AbortSignal,
): Promise<BackendHealth> => {
  let chatApi: Dialect | undefined;
  let response: HttpResponse;
  try {
    chatApi = await currentDialect(dialect, signal);
    if (chatApi === undefined) return down('the backend answers neither like Ollama nor like OpenAI');
    const url = baseUrl + chatApi.modelsPath;
    response = await httpClient({
      method: 'GET',
      url,
      headers: headersFor(key),
      signal,
      limitBytes: ANSWER_LIMIT_BYTES,
    });
  } catch (error) {
    if (!(error instanceof HttpClientError)) throw error;
    dialect.forget();
    if (error.code === BACKEND_BUSY) return down(IS_BUSY);
    return down(unreached(error.code));
  }
  // Another server may now have the address; a gateway that is not ready has no other way to notice.
  if (response.status === 404) dialect.forget();
  if (response.status === 401 || response.status === 403)
    return down(
      key.secret === ''
        ? `the backend wants a key (HTTP ${response.status}), and BACKEND_API_KEYS is not set`
        : `the backend refuses its key (HTTP ${response.status})`,
    );
  if (detectKnownError(response.status, response.text)?.kind === 'busy') return down(IS_BUSY);
  if (response.status !== 200) return down(`the backend answers HTTP ${response.status}`);
  const models = chatApi.parseModels(response.text);
  return models === undefined ? down('the backend lists no models') : { kind: 'up', models };
};
