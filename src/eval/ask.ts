import type { Clock } from '../core/clock.ts';
import { type EvalAnswer, parseError, parseEvalVerdict, parseRetryAfterMs } from './answer.ts';
import { EvaluationError } from './errors.ts';
import { gatewayFrom } from './gateway.ts';

/** Requests one verdict. Rejects only with an `EvaluationError`, for an error that would fail every other text too. */
export type RequestVerdict = (text: string, signal: AbortSignal) => Promise<EvalAnswer>;

type VerdictRequestNeeds = {
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
export const createVerdictRequester = ({
  url,
  key,
  model,
  timeoutMs,
  fetcher,
  clock,
}: VerdictRequestNeeds): RequestVerdict => {
  let hasAnswered = false;
  const address = `${url}/v1/moderations`;
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };

  const refusalFrom = ({ status, headers: received }: Response, text: string): EvalAnswer => {
    const { code, message = '' } = parseError(text);
    if (status === 401) throw new EvaluationError(`${address} refused the key (401); see --key`);
    const name = code === undefined ? String(status) : `${status} ${code}`;
    // A wrong address or model fails every row alike.
    if (status === 404 && !hasAnswered) {
      throw new EvaluationError(
        `${address} answered ${name}; see --url and --model. ${message.replaceAll(key, '(key)')}`.trim(),
      );
    }
    hasAnswered = true;
    const retryAfterMs =
      status === 429 || status === 503 ? parseRetryAfterMs(received.get('retry-after'), clock.now()) : undefined;
    return { kind: 'error', code: name, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) };
  };

  const request: RequestVerdict = async (text, signal) => {
    const body = JSON.stringify({ model, input: text });
    const response = await fetcher(address, { method: 'POST', headers, body, signal, redirect: 'manual' });
    const received = await response.text();
    if (response.status !== 200) return refusalFrom(response, received);
    hasAnswered = true;
    // Flagged by a gateway that is set to flag what has no verdict.
    const missing = response.headers.get('x-moderation-no-verdict');
    if (missing !== null)
      return { kind: 'error', code: /^\w{1,64}$/.test(missing) ? `no_verdict (${missing})` : 'no_verdict' };
    const gateway = gatewayFrom(url, response.headers);
    const word = response.headers.get('x-moderation-cache');
    const cache = word === 'hit' || word === 'miss' ? word : undefined;
    const scoreType = /^[a-z]{1,20}(?:, [a-z]{1,20}){0,4}$/.exec(
      response.headers.get('x-moderation-score-type') ?? '',
    )?.[0];
    const verdict = parseEvalVerdict(received);
    return verdict === undefined
      ? { kind: 'error', code: 'unusable_answer' }
      : { kind: 'verdict', verdict, gateway, cache, scoreType };
  };

  return async (text, signal) => {
    const limit = new AbortController();
    const clear = clock.after(timeoutMs, () => limit.abort());
    try {
      return await request(text, AbortSignal.any([signal, limit.signal]));
    } catch (error) {
      if (error instanceof EvaluationError) throw error;
      if (limit.signal.aborted) return { kind: 'error', code: 'timeout' };
      if (!hasAnswered && !signal.aborted) {
        throw new EvaluationError(`Cannot reach ${address}: ${codeOf(error)}; is a gateway running there? See --url`);
      }
      return { kind: 'error', code: codeOf(error), isUnreachable: true };
    } finally {
      clear();
    }
  };
};
