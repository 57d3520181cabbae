import { type ClientRequest, type IncomingMessage, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { ExchangeError, type OpenStream } from '../core/http/client.ts';
import {
  answerTo,
  CONNECT_LIMIT_MS,
  type ConnectLimit,
  codeOf,
  headerFrom,
  limitConnecting,
} from './node/http-client.ts';

/**
 * A stream over Node's own client, each on a connection of its own. Only connecting has a limit: the caller's signal ends
 * the rest. No redirects, no proxies, nothing is asked twice.
 */
export const createNodeHttpStream =
  ({ connectLimitMs = CONNECT_LIMIT_MS }: ConnectLimit = {}): OpenStream =>
  async ({ url, headers, signal }) => {
    signal.throwIfAborted();
    let sending: ClientRequest | undefined;
    const leave = () => void sending?.destroy();
    const reasonOf = (error: unknown): unknown => {
      signal.removeEventListener('abort', leave);
      if (signal.aborted) return signal.reason;
      return error instanceof ExchangeError ? error : new ExchangeError(codeOf(error));
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
