import type { Clock } from '../core/clock.ts';
import { type Answer, errorFrom, verdictFrom, waitFrom } from './answer.ts';
import { EvalProblem } from './errors.ts';
import { gatewayFrom } from './gateway.ts';

/** Asks for one verdict. It rejects only with an `EvalProblem`, for what would fail every other text too. */
export type Ask = (text: string, signal: AbortSignal) => Promise<Answer>;

export type AskNeeds = {
  /** Scheme, host and port: `/v1/moderations` is added. */
  readonly url: string;
  readonly key: string;
  readonly model: string;
  readonly timeoutMs: number;
  readonly fetcher: typeof fetch;
  readonly clock: Clock;
};

const codeOf = (error: unknown): string => {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined;
  return typeof code === 'string' && /^\w{1,64}$/.test(code) ? code : 'connection_failed';
};

/** Asks a gateway over HTTP. Until something has answered once, a failed connection or a 404 ends the run. */
export const createAsk = ({ url, key, model, timeoutMs, fetcher, clock }: AskNeeds): Ask => {
  let hasAnswered = false;
  const address = `${url}/v1/moderations`;
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };

  const refusalFrom = ({ status, headers: received }: Response, text: string): Answer => {
    const { code, message = '' } = errorFrom(text);
    if (status === 401) throw new EvalProblem(`${address} refused the key (401); see --key`);
    const name = code === undefined ? String(status) : `${status} ${code}`;
    // A wrong address or model fails every row alike.
    if (status === 404 && !hasAnswered) {
      throw new EvalProblem(
        `${address} answered ${name}; see --url and --model. ${message.replaceAll(key, '(key)')}`.trim(),
      );
    }
    hasAnswered = true;
    const retryAfterMs =
      status === 429 || status === 503 ? waitFrom(received.get('retry-after'), clock.now()) : undefined;
    return { kind: 'error', code: name, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) };
  };

  const httpClient = async (text: string, signal: AbortSignal): Promise<Answer> => {
    const body = JSON.stringify({ model, input: text });
    const response = await fetcher(address, { method: 'POST', headers, body, signal, redirect: 'manual' });
    const received = await response.text();
    if (response.status !== 200) return refusalFrom(response, received);
    hasAnswered = true;
    const verdict = verdictFrom(received);
    if (verdict === undefined) return { kind: 'error', code: 'unusable_answer' };
    return { kind: 'verdict', verdict, gateway: gatewayFrom(url, response.headers) };
  };

  return async (text, signal) => {
    const limit = new AbortController();
    const clear = clock.after(timeoutMs, () => limit.abort());
    try {
      return await httpClient(text, AbortSignal.any([signal, limit.signal]));
    } catch (error) {
      if (error instanceof EvalProblem) throw error;
      if (limit.signal.aborted) return { kind: 'error', code: 'timeout' };
      if (!hasAnswered && !signal.aborted) {
        throw new EvalProblem(`Cannot reach ${address}: ${codeOf(error)}; is a gateway running there? See --url`);
      }
      return { kind: 'error', code: codeOf(error), isUnreachable: true };
    } finally {
      clear();
    }
  };
};
