import { Agent, type Dispatcher, EnvHttpProxyAgent } from 'undici';
import { ConfigError, type Variables } from '../../core/config.ts';
import { type HttpClient, HttpClientError, type HttpResponse } from '../../core/http/client.ts';

const HEADERS_TIMEOUT_MS = 0;
const CONNECT_TIMEOUT_MS = 10_000;
/** Enough for every address of a few backends; a service whose addresses hold ids must not gather them for ever. */
const TARGETS_KEPT = 64;

const codeOf = (error: Error): string =>
  'code' in error && typeof error.code === 'string' && /^\w{1,64}$/.test(error.code) ? error.code : 'CONNECTION_FAILED';

const headerFrom = (headers: Readonly<Record<string, string | string[] | undefined>>) => (name: string) => {
  const value = headers[name];
  return Array.isArray(value) ? (value[0] ?? null) : (value ?? null);
};

type Settle = { readonly resolve: (received: HttpResponse) => void; readonly reject: (error: unknown) => void };

/** Collects one answer, bounded. undici's own Request and Readable objects cost more than the call itself. */
const collector = (
  limitBytes: number,
  signal: AbortSignal,
  { resolve, reject }: Settle,
): Dispatcher.DispatchHandler => {
  const chunks: Buffer[] = [];
  let bytes = 0;
  let status = 0;
  let headers: Readonly<Record<string, string | string[] | undefined>> = {};
  let controller: Dispatcher.DispatchController | undefined;
  // The caller must not wait for a connection that is still being made: it is told at once.
  const leave = () => {
    reject(signal.reason);
    controller?.abort(new Error('The caller left'));
  };
  signal.addEventListener('abort', leave, { once: true });
  return {
    onRequestStart(started) {
      controller = started;
      if (signal.aborted) leave();
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
      signal.removeEventListener('abort', leave);
      resolve({ status, header: headerFrom(headers), text: Buffer.concat(chunks).toString('utf8') });
    },
    onResponseError(_controller, error) {
      signal.removeEventListener('abort', leave);
      reject(error instanceof HttpClientError ? error : new HttpClientError(codeOf(error)));
    },
  };
};

export type ProxySettings = { readonly httpProxy?: string; readonly httpsProxy?: string; readonly noProxy?: string };

const isHangUp = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && (error.code === 'UND_ERR_SOCKET' || error.code === 'UND_ERR_INFO');

/**
 * Connections to a proxy itself. One that hangs up instead of answering is a failure like any other: undici would ask it
 * again at once, thousands of times a second, until somebody's deadline.
 */
const proxyClient = (_proxy: URL, options: object): Dispatcher => {
  const agent = new Agent(options);
  const connect = agent.connect.bind(agent);
  return Object.assign(agent, {
    connect: (asked: Dispatcher.ConnectOptions) =>
      connect(asked).catch((error: unknown) => {
        throw isHangUp(error) ? Object.assign(new Error('The proxy hung up'), { code: 'PROXY_HUNG_UP' }) : error;
      }),
  });
};

/** Connections to wherever the proxies lead. They wait for answers without end: deadlines are the caller's. */
export const dispatcherFor = ({ httpProxy = '', httpsProxy = '', noProxy = '' }: ProxySettings): Dispatcher => {
  const limits = { headersTimeout: HEADERS_TIMEOUT_MS, bodyTimeout: 0, connect: { timeout: CONNECT_TIMEOUT_MS } };
  if (httpProxy === '' && httpsProxy === '') return new Agent(limits);
  // What is left out would be read from the process's environment; an empty word means none.
  return new EnvHttpProxyAgent({ ...limits, clientFactory: proxyClient, httpProxy, httpsProxy, noProxy });
};

export type NodeHttpClient = { readonly httpClient: HttpClient; readonly close: () => Promise<void> };

/** An exchange over undici's connection pools, through the proxies when there are any. Deadlines are the caller's. */
export const createUndiciClient = (proxies: ProxySettings): NodeHttpClient => {
  const dispatcher = dispatcherFor(proxies);
  // A gateway asks at a handful of addresses, and taking one apart anew for every call is not free.
  const targets = new Map<string, { readonly origin: string; readonly path: string }>();
  const targetOf = (url: string) => {
    const known = targets.get(url);
    if (known !== undefined) return known;
    const { origin, pathname, search } = new URL(url);
    const target = { origin, path: pathname + search };
    if (targets.size >= TARGETS_KEPT) targets.clear();
    targets.set(url, target);
    return target;
  };
  return {
    httpClient: ({ method, url, headers, body, signal, limitBytes }) =>
      new Promise((resolve, reject) => {
        if (signal.aborted) return reject(signal.reason);
        dispatcher.dispatch(
          // A copy of the headers: on the way to a proxy undici writes a host into them.
          { ...targetOf(url), method, headers: { ...headers }, ...(body === undefined ? {} : { body }) },
          collector(limitBytes, signal, { resolve, reject }),
        );
      }),
    close: () => dispatcher.close(),
  };
};

/** A proxy's address; a bare `host:port` is taken as HTTP, as curl does. Its value stays out of the complaint: it may hold a password. */
const proxyAddress = (name: string, text: string): string => {
  const address = /^[a-z][a-z\d+.-]*:\/\//i.test(text) ? text : `http://${text}`;
  if (!/^https?:/i.test(address) || !URL.canParse(address))
    throw new ConfigError([`${name}: expected an address such as http://proxy.example:3128`]);
  return address;
};

/** The proxy variables that the field has agreed on, in either case. Throws a `ConfigError` for what is no address. */
export const proxiesFrom = (variables: Variables): ProxySettings => {
  const first = (name: string): string => (variables[name] || variables[name.toLowerCase()] || '').trim();
  const [httpProxy = '', httpsProxy = ''] = ['HTTP_PROXY', 'HTTPS_PROXY'].map((name) => {
    const text = first(name);
    return text === '' ? '' : proxyAddress(name, text);
  });
  const noProxy = first('NO_PROXY');
  return {
    ...(httpProxy === '' ? {} : { httpProxy }),
    ...(httpsProxy === '' ? {} : { httpsProxy }),
    ...(noProxy === '' ? {} : { noProxy }),
  };
};

export type ProxiedFetch = {
  readonly ask: (url: string | URL, init?: RequestInit) => Promise<Response>;
  /** Breaks off what still runs. */
  readonly close: () => Promise<void>;
};

/**
 * Node's own `fetch`, through the proxies when there are any, and as patient as its caller: by itself it gives up a
 * backend that is silent for 300 s.
 */
export const createProxiedFetch = (proxies: ProxySettings): ProxiedFetch => {
  const dispatcher = dispatcherFor(proxies);
  return {
    ask(url, init) {
      // Node takes it, and the platform's type does not know it.
      const more = { ...init, dispatcher };
      return fetch(url, more);
    },
    close: () => dispatcher.destroy(),
  };
};
