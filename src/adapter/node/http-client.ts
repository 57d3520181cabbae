// HTTP on Node's own client, not on undici (undici-client.ts). The bundles of the relay admin and the bridge contain no undici:
// they start faster and take 70 MB less memory. This client sends nothing twice that is not repeatable, and limits the
// bytes of a body.
import { type ClientRequest, Agent as HttpAgent, type IncomingMessage, request as requestHttp } from 'node:http';
import { Agent as HttpsAgent, request as requestHttps } from 'node:https';
import {
  type HttpClient,
  HttpClientError,
  type HttpRequest,
  type HttpResponse,
  type OpenHttpStream,
} from '../../core/http/client.ts';
import { decodeContent } from './content-encoding.ts';
import { errorCode } from './error-code.ts';

/** An HTTP client with its connections. */
export type NodeHttpClient = { readonly httpClient: HttpClient; readonly close: () => Promise<void> };

type ConnectOptions = { readonly connectLimitMs?: number };

const CONNECT_LIMIT_MS = 10_000;
const IDLE_SOCKETS = 8;

/** The error code of Node. */
export const codeOf = (error: unknown): string => {
  const code = errorCode(error) ?? '';
  return /^\w{1,64}$/.test(code) ? code : 'CONNECTION_FAILED';
};

/** The whole text of a response. Throws `ANSWER_TOO_LARGE` over the limit. */
const readText = async (answer: IncomingMessage, limitBytes: number): Promise<string> => {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of answer) {
    bytes += chunk.byteLength;
    if (bytes > limitBytes) throw new HttpClientError('ANSWER_TOO_LARGE');
    chunks.push(chunk);
  }
  const body = Buffer.concat(chunks);
  const encoding = answer.headers['content-encoding'] ?? null;
  return ((await decodeContent(body, encoding, limitBytes)) ?? body).toString('utf8');
};

/** Looks up headers of a response by their lower-case names. */
export const headerFrom = (headers: Readonly<Record<string, string | string[] | undefined>>) => (name: string) => {
  const value = headers[name];
  return Array.isArray(value) ? (value[0] ?? null) : (value ?? null);
};

/** Fails with `CONNECT_TIMEOUT` when connecting takes too long. Nothing has been sent then. */
const limitConnecting = (sending: ClientRequest, limitMs: number): void => {
  sending.once('socket', (socket) => {
    if (!socket.connecting) return;
    const timer = setTimeout(() => sending.destroy(new HttpClientError('CONNECT_TIMEOUT')), limitMs);
    for (const event of ['connect', 'close'] as const) socket.once(event, () => clearTimeout(timer));
  });
};

/** The head of the response, or the first error. Later errors are ignored. */
const awaitResponse = (sending: ClientRequest): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    sending.once('response', resolve);
    sending.on('error', reject);
  });

/** A connection that the other side has closed; the second one while a long body was being sent. */
const CLOSED_BY_SERVER: ReadonlySet<string | undefined> = new Set(['ECONNRESET', 'EPIPE']);
/** Whether a kept connection broke: mostly the server had closed it before the request came. */
const isOldConnection = (sending: ClientRequest | undefined, error: unknown): boolean =>
  sending?.reusedSocket === true && CLOSED_BY_SERVER.has(errorCode(error));

/**
 * An HTTP client on Node's own. A request that is neither a GET nor `isRepeatable` gets a connection of its own: on a kept one that
 * the server has just closed, it would be unknown whether it was received. Those that are repeatable are sent again then, once.
 * No proxies, no redirects.
 */
export const createNodeHttpClient = ({ connectLimitMs = CONNECT_LIMIT_MS }: ConnectOptions = {}): NodeHttpClient => {
  const kept = { keepAlive: true, maxFreeSockets: IDLE_SOCKETS };
  const agents = { 'http:': new HttpAgent(kept), 'https:': new HttpsAgent(kept) };
  const open = ({ url, method, headers }: HttpRequest, mayBeUsed: boolean): ClientRequest => {
    const target = new URL(url);
    const isSecure = target.protocol === 'https:';
    const agent = mayBeUsed && agents[isSecure ? 'https:' : 'http:'];
    return (isSecure ? requestHttps : requestHttp)(target, { method, headers: { ...headers }, agent });
  };
  const httpClient: HttpClient = async (request) => {
    const { method, body, signal, limitBytes, isRepeatable = false, onHead } = request;
    signal.throwIfAborted();
    let sending: ClientRequest | undefined;
    const gone = Promise.withResolvers<never>();
    // Rejects at once: a DNS lookup or a handshake cannot be aborted.
    const onAbort = () => {
      gone.reject(signal.reason);
      sending?.destroy();
    };
    signal.addEventListener('abort', onAbort, { once: true });
    const send = async (mayBeUsed: boolean): Promise<HttpResponse> => {
      sending = open(request, mayBeUsed);
      limitConnecting(sending, connectLimitMs);
      const answered = awaitResponse(sending);
      sending.end(body);
      const answer = await answered;
      const head = { status: answer.statusCode ?? 0, header: headerFrom(answer.headers) };
      onHead?.(head);
      return { ...head, text: await readText(answer, limitBytes) };
    };
    const sendUntilReceived = async (): Promise<HttpResponse> => {
      try {
        return await send(method === 'GET' || isRepeatable);
      } catch (error) {
        if (!isRepeatable || signal.aborted || !isOldConnection(sending, error)) throw error;
        return send(false);
      }
    };
    try {
      return await Promise.race([sendUntilReceived(), gone.promise]);
    } catch (error) {
      sending?.destroy();
      if (signal.aborted) throw signal.reason;
      throw error instanceof HttpClientError ? error : new HttpClientError(codeOf(error));
    } finally {
      signal.removeEventListener('abort', onAbort);
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
 * The body of an answer as it comes, read by one reader: all that is there is one chunk. Node's own iterator makes several promises of
 * each. `reasonOf`: what an error is to the reader.
 */
const chunksOf = (answer: IncomingMessage, reasonOf: (error: unknown) => unknown): AsyncIterable<Uint8Array> => {
  let wake = (): void => {};
  for (const event of ['readable', 'end', 'error', 'close'] as const) answer.on(event, () => wake());
  const next = async (): Promise<IteratorResult<Uint8Array, undefined>> => {
    for (;;) {
      const value: Uint8Array | null = answer.read();
      if (value !== null) return { done: false, value };
      if (answer.readableEnded) return { done: true, value: undefined };
      if (answer.destroyed) throw reasonOf(answer.errored);
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  };
  const stop = async (): Promise<IteratorResult<Uint8Array, undefined>> => {
    answer.destroy();
    return { done: true, value: undefined };
  };
  return { [Symbol.asyncIterator]: () => ({ next, return: stop }) };
};

/**
 * Opens a response stream with Node's own client, each on a connection of its own. Only connecting has a time limit: the
 * caller's signal ends the rest. No redirects, no proxies, no retries.
 */
export const createNodeHttpStream =
  ({ connectLimitMs = CONNECT_LIMIT_MS }: ConnectOptions = {}): OpenHttpStream =>
  async ({ url, headers, body, signal }) => {
    signal.throwIfAborted();
    let sending: ClientRequest | undefined;
    const onAbort = () => void sending?.destroy();
    const reasonOf = (error: unknown): unknown => {
      signal.removeEventListener('abort', onAbort);
      if (signal.aborted) return signal.reason;
      return error instanceof HttpClientError ? error : new HttpClientError(codeOf(error));
    };
    try {
      const target = new URL(url);
      const request = target.protocol === 'https:' ? requestHttps : requestHttp;
      const method = body === undefined ? 'GET' : 'POST';
      sending = request(target, { method, headers: { ...headers }, agent: false });
      signal.addEventListener('abort', onAbort, { once: true });
      limitConnecting(sending, connectLimitMs);
      const answered = awaitResponse(sending);
      sending.end(body);
      const answer = await answered;
      answer.once('close', () => signal.removeEventListener('abort', onAbort));
      return { status: answer.statusCode ?? 0, header: headerFrom(answer.headers), chunks: chunksOf(answer, reasonOf) };
    } catch (error) {
      throw reasonOf(error);
    }
  };
