import { type ClientRequest, Agent as HttpAgent, type IncomingMessage, request as requestHttp } from 'node:http';
import { Agent as HttpsAgent, request as requestHttps } from 'node:https';
import { type HttpClient, HttpClientError, type HttpResponse, type OpenHttpStream } from '../../core/http/client.ts';
import type { NodeHttpClient } from './undici-client.ts';

export type ConnectLimit = { readonly connectLimitMs?: number };

export const CONNECT_LIMIT_MS = 10_000;
const KEPT_SOCKETS = 8;

/** Node's own word for a failure. */
export const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' && /^\w{1,64}$/.test(error.code)
    ? error.code
    : 'CONNECTION_FAILED';

/** The whole text of an answer, or nothing once it has grown over the limit. */
const readText = async (answer: IncomingMessage, limitBytes: number): Promise<string> => {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of answer) {
    bytes += chunk.byteLength;
    if (bytes > limitBytes) throw new HttpClientError('ANSWER_TOO_LARGE');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
};

/** Looks up headers of an answer by their lower-case names. */
export const headerFrom = (answer: IncomingMessage) => (name: string) => {
  const value = answer.headers[name];
  return Array.isArray(value) ? (value[0] ?? null) : (value ?? null);
};

/** Gives up a connection that is not made in time, while nothing can have been sent. */
export const limitConnecting = (sending: ClientRequest, limitMs: number): void => {
  sending.once('socket', (socket) => {
    if (!socket.connecting) return;
    const timer = setTimeout(() => sending.destroy(new HttpClientError('CONNECT_TIMEOUT')), limitMs);
    for (const event of ['connect', 'close'] as const) socket.once(event, () => clearTimeout(timer));
  });
};

/** The head of the answer, or the failure that came first. Failures that come later are heard, and told to nobody. */
export const answerTo = (sending: ClientRequest): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    sending.once('response', resolve);
    sending.on('error', reject);
  });

/**
 * An exchange over Node's own client: nothing to load, and nothing is ever sent again by itself. Whatever changes
 * something gets a connection of its own, so that no stale one can leave its fate in doubt. No proxies.
 */
export const createNodeHttpClient = ({ connectLimitMs = CONNECT_LIMIT_MS }: ConnectLimit = {}): NodeHttpClient => {
  const kept = { keepAlive: true, maxFreeSockets: KEPT_SOCKETS };
  const agents = { 'http:': new HttpAgent(kept), 'https:': new HttpsAgent(kept) };
  const open = (url: URL, method: string, headers: Readonly<Record<string, string>>): ClientRequest => {
    const isSecure = url.protocol === 'https:';
    const agent = method === 'GET' ? agents[isSecure ? 'https:' : 'http:'] : false;
    return (isSecure ? requestHttps : requestHttp)(url, { method, headers: { ...headers }, agent });
  };
  const httpClient: HttpClient = async ({ method, url, headers, body, signal, limitBytes }) => {
    signal.throwIfAborted();
    let sending: ClientRequest | undefined;
    const gone = Promise.withResolvers<never>();
    // Told at once: a lookup or a handshake that is under way ends when it likes.
    const leave = () => {
      gone.reject(signal.reason);
      sending?.destroy();
    };
    signal.addEventListener('abort', leave, { once: true });
    const send = async (): Promise<HttpResponse> => {
      sending = open(new URL(url), method, headers);
      limitConnecting(sending, connectLimitMs);
      const answered = answerTo(sending);
      sending.end(body);
      const answer = await answered;
      const text = await readText(answer, limitBytes);
      return { status: answer.statusCode ?? 0, header: headerFrom(answer), text };
    };
    try {
      return await Promise.race([send(), gone.promise]);
    } catch (error) {
      sending?.destroy();
      if (signal.aborted) throw signal.reason;
      throw error instanceof HttpClientError ? error : new HttpClientError(codeOf(error));
    } finally {
      signal.removeEventListener('abort', leave);
    }
  };
  return {
    httpClient,
    async close() {
      for (const agent of Object.values(agents)) agent.destroy();
    },
  };
};

/**
 * A stream over Node's own client, each on a connection of its own. Only connecting has a limit: the caller's signal ends
 * the rest. No redirects, no proxies, nothing is asked twice.
 */
export const createNodeHttpStream =
  ({ connectLimitMs = CONNECT_LIMIT_MS }: ConnectLimit = {}): OpenHttpStream =>
  async ({ url, headers, signal }) => {
    signal.throwIfAborted();
    let sending: ClientRequest | undefined;
    const leave = () => void sending?.destroy();
    const reasonOf = (error: unknown): unknown => {
      signal.removeEventListener('abort', leave);
      if (signal.aborted) return signal.reason;
      return error instanceof HttpClientError ? error : new HttpClientError(codeOf(error));
    };
    async function* chunksOf(answer: IncomingMessage): AsyncGenerator<Uint8Array> {
      try {
        for await (const chunk of answer) yield chunk;
      } catch (error) {
        throw reasonOf(error);
      } finally {
        signal.removeEventListener('abort', leave);
      }
    }
    try {
      const target = new URL(url);
      const request = target.protocol === 'https:' ? requestHttps : requestHttp;
      sending = request(target, { method: 'GET', headers: { ...headers }, agent: false });
      signal.addEventListener('abort', leave, { once: true });
      limitConnecting(sending, connectLimitMs);
      const answered = answerTo(sending);
      sending.end();
      const answer = await answered;
      return { status: answer.statusCode ?? 0, header: headerFrom(answer), chunks: chunksOf(answer) };
    } catch (error) {
      throw reasonOf(error);
    }
  };
