import type { Clock } from '../../core/clock.ts';
import { isRecord } from '../../core/json.ts';
import { retryAfterMs } from '../../core/retry.ts';
import { createProviderError } from './provider-errors.ts';
import { createExchangeLimiter, type ExchangeLimiter } from './timeouts.ts';
import { ModelError } from './types.ts';

/** How long a call to a backend may take, in milliseconds; 0 for no limit. */
export type BackendLimits = {
  /** Until its answer begins. */
  readonly headerMs: number;
  /** Between two pieces of it. */
  readonly gapMs: number;
  /** From the request to the end of the answer. */
  readonly wholeMs: number;
};

/** The limits of a provider for which the configuration sets none. */
export const DEFAULT_LIMITS: BackendLimits = { headerMs: 300_000, gapMs: 300_000, wholeMs: 0 };

const toCallDelta = (call: unknown, index: number): unknown => {
  if (!isRecord(call)) return call;
  const called = isRecord(call.function) ? call.function : {};
  const { arguments: given } = called;
  return {
    ...call,
    index,
    function: { ...called, arguments: typeof given === 'string' ? given : JSON.stringify(given) },
  };
};

/**
 * Converts a whole chat completion to the event stream it would have been; undefined when the value is no chat completion.
 * Backends that cannot stream answer with one although a stream was requested.
 */
const toCompletionStream = (completion: unknown): string | undefined => {
  if (!isRecord(completion) || !Array.isArray(completion.choices)) return undefined;
  const [choice]: readonly unknown[] = completion.choices;
  if (!isRecord(choice) || !isRecord(choice.message)) return undefined;
  const { message } = choice;
  const calls: readonly unknown[] = Array.isArray(message.tool_calls) ? message.tool_calls : [];
  const delta = { ...message, ...(calls.length === 0 ? {} : { tool_calls: calls.map(toCallDelta) }) };
  // It arrived as a whole, so it was not cut off.
  const chunk = { ...completion, choices: [{ index: 0, delta, finish_reason: choice.finish_reason ?? 'stop' }] };
  return `data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n`;
};

/** A request as it is sent. The names of headers are in lower case. */
type BackendRequest = {
  readonly method: 'POST';
  readonly headers: Record<string, string>;
  readonly body: string | Blob;
  readonly redirect: 'manual';
  readonly signal: AbortSignal;
};

/** What is read of a `Response`. */
export type BackendResponse = Pick<Response, 'status' | 'ok' | 'body'> & { readonly headers: Pick<Headers, 'get'> };

/** `fetch` or a replacement: it rejects when its signal aborts, and for failures below HTTP. */
export type Fetcher = (url: string, init: BackendRequest) => Promise<BackendResponse>;

type BackendFetchNeeds = {
  readonly fetcher: Fetcher;
  readonly clock: Clock;
  readonly userAgent: string;
  readonly limits: BackendLimits;
  /** Called with the caller's signal when a request was handed to the fetcher. */
  readonly onSent?: (signal: AbortSignal) => void;
};

/** The backend of a model, as far as headers depend on it. */
type ModelBackend = {
  readonly providerID: string;
  readonly apiKey: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
};

const ERROR_LIMIT_BYTES = 64 * 1024;
/** A stream of the longest answers that models give, with some 250 bytes around each token. It is not held. */
const STREAM_LIMIT_BYTES = 64 * 1024 * 1024;
/** An answer in one piece, and a line of a stream: both are held whole. */
const PIECE_LIMIT_BYTES = 8 * 1024 * 1024;
const LONGEST_WAIT_MS = 3_600_000;

/** The headers of a request, by their names in lower case. The configuration overrides what the SDK sets. */
const createHeaders = (
  given: RequestInit['headers'],
  { apiKey, headers }: ModelBackend,
  userAgent: string,
): Record<string, string> => {
  const all: Record<string, string> = {};
  const isList = given instanceof Headers || Array.isArray(given);
  for (const [name, value] of isList ? new Headers(given) : Object.entries(given ?? {}))
    all[name.toLowerCase()] = value;
  all['user-agent'] = userAgent;
  // Without a key the SDK would send an empty one.
  for (const name of apiKey === undefined ? ['authorization', 'x-api-key'] : []) delete all[name];
  for (const [name, value] of Object.entries(headers)) all[name.toLowerCase()] = value;
  return all;
};

const parseRetryAfterMs = (headers: BackendResponse['headers'], now: number): number | undefined => {
  const exact = /^\d{1,12}(?:\.\d+)?$/.exec(headers.get('retry-after-ms')?.trim() ?? '')?.[0];
  if (exact !== undefined && Number(exact) > 0) return Math.min(LONGEST_WAIT_MS, Math.ceil(Number(exact)));
  return retryAfterMs(headers.get('retry-after'), now);
};

const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
};

/** A request as the SDK makes it, with the caller's signal. */
type SdkRequest = {
  readonly headers?: RequestInit['headers'];
  readonly body: string | Blob;
  readonly signal: AbortSignal;
};

/** A fetch for one backend. It resolves only with an event stream, and rejects only with a `ModelError` or the caller's reason. */
export const createBackendFetch = (needs: BackendFetchNeeds, backend: ModelBackend) => {
  const { fetcher, clock, userAgent, limits, onSent } = needs;
  const { headerMs, gapMs, wholeMs } = limits;
  const { providerID } = backend;
  const who = `The provider "${providerID}"`;
  const secrets = [backend.apiKey ?? '', ...Object.values(backend.headers)];

  const toRefusalError = async (response: BackendResponse, limiter: ExchangeLimiter): Promise<ModelError> => {
    const { status: statusCode, headers } = response;
    const shouldRetry = headers.get('x-should-retry');
    // The status matters more than why the body did not arrive.
    const text = await limiter
      .readText(response.body, { limitMs: gapMs, limitBytes: ERROR_LIMIT_BYTES })
      .catch(() => '');
    return createProviderError({
      providerID,
      statusCode,
      body: parseJson(text),
      retryAfterMs: parseRetryAfterMs(headers, clock.now()),
      mayRetry: shouldRetry === 'true' ? true : shouldRetry === 'false' ? false : undefined,
      secrets,
    });
  };

  const readWholeAnswer = async (
    { status: statusCode, body }: BackendResponse,
    limiter: ExchangeLimiter,
  ): Promise<string> => {
    const answer = parseJson(await limiter.readText(body, { limitMs: gapMs, limitBytes: PIECE_LIMIT_BYTES }));
    if (isRecord(answer) && answer.error !== undefined && answer.error !== null) {
      throw createProviderError({ providerID, statusCode: undefined, body: answer, secrets });
    }
    const stream = toCompletionStream(answer);
    if (stream !== undefined) return stream;
    throw new ModelError('api', `${who} answered in one piece that is no chat completion, and was asked for a stream`, {
      statusCode,
    });
  };

  const toStream = async (response: BackendResponse, limiter: ExchangeLimiter): Promise<Response> => {
    const headers = { 'content-type': 'text/event-stream' };
    const type = response.headers.get('content-type') ?? '';
    if (/^\s*application\/json\b/i.test(type)) {
      const text = await readWholeAnswer(response, limiter);
      limiter.end();
      return new Response(text, { headers });
    }
    if (/^\s*text\/html\b/i.test(type)) {
      throw new ModelError('api', `${who} answered with a web page: the baseURL leads elsewhere`);
    }
    if (response.body === null) throw new ModelError('cut-off', `${who} gave an empty answer`, { isRetryable: true });
    const limits = { limitMs: gapMs, limitBytes: STREAM_LIMIT_BYTES, lineLimitBytes: PIECE_LIMIT_BYTES };
    return new Response(limiter.body(response.body, limits), { headers });
  };

  return async (url: string, { body, signal: caller, ...given }: SdkRequest): Promise<Response> => {
    const limiter = createExchangeLimiter({ clock, who, wholeLimitMs: wholeMs, signal: caller });
    try {
      const headers = createHeaders(given.headers, backend, userAgent);
      const { signal } = limiter;
      const responding = fetcher(url, { method: 'POST', headers, body, redirect: 'manual', signal });
      onSent?.(caller);
      const response = await limiter.withTimeout(headerMs, responding);
      if (!response.ok) throw await toRefusalError(response, limiter);
      return await toStream(response, limiter);
    } catch (error) {
      limiter.abort();
      throw limiter.toError(error);
    }
  };
};
