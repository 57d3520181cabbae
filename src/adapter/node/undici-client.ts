import { Agent, type Dispatcher, EnvHttpProxyAgent } from 'undici';
import { ConfigError, type Variables } from '../../core/config.ts';
import { HttpClientError, type HttpResponse } from '../../core/http/client.ts';
import { decodeContent } from './content-encoding.ts';
import { errorCode } from './error-code.ts';
import { codeOf, headerFrom, type NodeHttpClient } from './http-client.ts';

const HEADERS_TIMEOUT_MS = 0;
const CONNECT_TIMEOUT_MS = 10_000;
/** Enough for all URLs of a few backends. A service with ids in its URLs must not store them for ever. */
const TARGETS_LIMIT = 64;

type Settle = { readonly resolve: (received: HttpResponse) => void; readonly reject: (error: unknown) => void };

/** Collects one response of at most `limitBytes`. undici's own Request and Readable objects cost more than the call itself. */
const createCollector = (
  limitBytes: number,
  signal: AbortSignal,
  { resolve, reject }: Settle,
): Dispatcher.DispatchHandler => {
  const chunks: Buffer[] = [];
  let bytes = 0;
  let status = 0;
  let headers: Readonly<Record<string, string | string[] | undefined>> = {};
  let controller: Dispatcher.DispatchController | undefined;
  // Rejects at once: the caller must not wait for a connection that is still being opened.
  const onAbort = () => {
    reject(signal.reason);
    controller?.abort(new Error('The caller has aborted'));
  };
  signal.addEventListener('abort', onAbort, { once: true });
  return {
    onRequestStart(started) {
      controller = started;
      if (signal.aborted) onAbort();
    },
    onResponseStart(_controller, statusCode, responseHeaders) {
      status = statusCode;
      headers = responseHeaders;
    },
    onResponseData(_controller, chunk) {
      bytes += chunk.byteLength;
      if (bytes > limitBytes) controller?.abort(new HttpClientError('ANSWER_TOO_LARGE'));
      else chunks.push(chunk);
    },
    onResponseEnd() {
      signal.removeEventListener('abort', onAbort);
      const header = headerFrom(headers);
      const body = Buffer.concat(chunks);
      const settle = (text: Buffer) => resolve({ status, header, text: text.toString('utf8') });
      const decoded = decodeContent(body, header('content-encoding'), limitBytes);
      if (decoded === undefined) settle(body);
      else decoded.then(settle, reject);
    },
    onResponseError(_controller, error) {
      signal.removeEventListener('abort', onAbort);
      reject(error instanceof HttpClientError ? error : new HttpClientError(codeOf(error)));
    },
  };
};

export type ProxySettings = { readonly httpProxy?: string; readonly httpsProxy?: string; readonly noProxy?: string };

const isConnectionClosed = (error: unknown): boolean =>
  ['UND_ERR_SOCKET', 'UND_ERR_INFO'].includes(errorCode(error) ?? '');

/**
 * Connections to a proxy. A proxy that closes the connection instead of answering is an error: undici would retry at once,
 * thousands of times a second, until the caller's deadline.
 */
const createProxyClient = (_proxy: URL, options: object): Dispatcher => {
  const agent = new Agent(options);
  const connect = agent.connect.bind(agent);
  return Object.assign(agent, {
    connect: (asked: Dispatcher.ConnectOptions) =>
      connect(asked).catch((error: unknown) => {
        throw isConnectionClosed(error)
          ? Object.assign(new Error('The proxy hung up'), { code: 'PROXY_HUNG_UP' })
          : error;
      }),
  });
};

/** Connection pools, through the proxies if there are any. Without response timeouts: deadlines are the caller's. */
const createDispatcher = ({ httpProxy = '', httpsProxy = '', noProxy = '' }: ProxySettings): Dispatcher => {
  const limits = { headersTimeout: HEADERS_TIMEOUT_MS, bodyTimeout: 0, connect: { timeout: CONNECT_TIMEOUT_MS } };
  if (httpProxy === '' && httpsProxy === '') return new Agent(limits);
  // Settings that are left out would be read from the environment. An empty text means none.
  return new EnvHttpProxyAgent({ ...limits, clientFactory: createProxyClient, httpProxy, httpsProxy, noProxy });
};

/** An HTTP client on undici's connection pools, through the proxies if there are any. Deadlines are the caller's. */
export const createUndiciClient = (proxies: ProxySettings): NodeHttpClient => {
  const dispatcher = createDispatcher(proxies);
  // A gateway calls a handful of URLs, and parsing one for every call is not free.
  const targets = new Map<string, { readonly origin: string; readonly path: string }>();
  const targetOf = (url: string) => {
    const known = targets.get(url);
    if (known !== undefined) return known;
    const { origin, pathname, search } = new URL(url);
    const target = { origin, path: pathname + search };
    if (targets.size >= TARGETS_LIMIT) targets.clear();
    targets.set(url, target);
    return target;
  };
  return {
    httpClient: ({ method, url, headers, body, signal, limitBytes }) =>
      new Promise((resolve, reject) => {
        if (signal.aborted) return reject(signal.reason);
        dispatcher.dispatch(
          // A copy of the headers: for a proxy undici adds a host to them.
          { ...targetOf(url), method, headers: { ...headers }, ...(body === undefined ? {} : { body }) },
          createCollector(limitBytes, signal, { resolve, reject }),
        );
      }),
    close: () => dispatcher.close(),
  };
};

/** The URL of a proxy. A bare `host:port` means HTTP, as for curl. The error does not show the value: it may hold a password. */
const parseProxyAddress = (name: string, text: string): string => {
  const address = /^[a-z][a-z\d+.-]*:\/\//i.test(text) ? text : `http://${text}`;
  if (!/^https?:/i.test(address) || !URL.canParse(address))
    throw new ConfigError([`${name}: expected an address such as http://proxy.example:3128`]);
  return address;
};

/** Reads HTTP_PROXY, HTTPS_PROXY and NO_PROXY, in upper or lower case. Throws a `ConfigError` for an invalid URL. */
export const readProxySettings = (variables: Variables): ProxySettings => {
  const first = (name: string): string => (variables[name] || variables[name.toLowerCase()] || '').trim();
  const [httpProxy = '', httpsProxy = ''] = ['HTTP_PROXY', 'HTTPS_PROXY'].map((name) => {
    const text = first(name);
    return text === '' ? '' : parseProxyAddress(name, text);
  });
  const noProxy = first('NO_PROXY');
  return {
    ...(httpProxy === '' ? {} : { httpProxy }),
    ...(httpsProxy === '' ? {} : { httpsProxy }),
    ...(noProxy === '' ? {} : { noProxy }),
  };
};

/** Requests over connections of its own. */
export type ProxiedFetch = {
  /** Node's own `fetch`, without its time limit: by itself it aborts when a backend sends nothing for 300 s. */
  readonly fetch: (url: string | URL, init?: RequestInit) => Promise<Response>;
  readonly dispatcher: Dispatcher;
  /** Aborts running requests. */
  readonly close: () => Promise<void>;
};

/** Requests through the proxies if there are any. */
export const createProxiedFetch = (proxies: ProxySettings): ProxiedFetch => {
  const dispatcher = createDispatcher(proxies);
  return {
    fetch(url, init) {
      // Node takes a dispatcher, but its type does not declare it.
      const more = { ...init, dispatcher };
      return fetch(url, more);
    },
    dispatcher,
    close: () => dispatcher.destroy(),
  };
};
