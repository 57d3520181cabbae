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
  /** From the question to the end of the answer. */
  readonly wholeMs: number;
};

/** What holds for a provider of which the configuration says nothing else. */
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
 * The event stream that a whole chat completion would have been; nothing when the value is no chat completion. Backends
 * that cannot stream answer so whatever they are asked for.
 */
export const toCompletionStream = (completion: unknown): string | undefined => {
  if (!isRecord(completion) || !Array.isArray(completion.choices)) return undefined;
  const [choice]: readonly unknown[] = completion.choices;
  if (!isRecord(choice) || !isRecord(choice.message)) return undefined;
  const { message } = choice;
  const calls: readonly unknown[] = Array.isArray(message.tool_calls) ? message.tool_calls : [];
  const delta = { ...message, ...(calls.length === 0 ? {} : { tool_calls: calls.map(toCallDelta) }) };
  // It came to its end as a whole, so it was not cut off.
  const chunk = { ...completion, choices: [{ index: 0, delta, finish_reason: choice.finish_reason ?? 'stop' }] };
  return `data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n`;
};

/** `fetch`, or something like it: it rejects when its signal aborts, and for what goes wrong below HTTP. */
export type Fetcher = (url: string, init: RequestInit) => Promise<Response>;

export type BackendFetchNeeds = {
  readonly fetcher: Fetcher;
  readonly clock: Clock;
  readonly userAgent: string;
  readonly limits: BackendLimits;
};

/** Whom to speak to, as far as it shows in headers. */
export type ModelBackend = {
  readonly providerID: string;
  readonly apiKey: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
};

const ERROR_LIMIT_BYTES = 64 * 1024;
const ANSWER_LIMIT_BYTES = 64 * 1024 * 1024;
const LONGEST_WAIT_MS = 3_600_000;

/** All headers are set here: what the SDK makes of names and keys is overruled by what the configuration says. */
const createHeaders = (init: RequestInit, { apiKey, headers }: ModelBackend, userAgent: string): Headers => {
  const all = new Headers(init.headers);
  all.set('user-agent', userAgent);
  // Without a key the SDK would send an empty one.
  for (const name of apiKey === undefined ? ['authorization', 'x-api-key'] : []) all.delete(name);
  for (const [name, value] of Object.entries(headers)) all.set(name, value);
  return all;
};

const parseRetryAfterMs = (headers: Headers, now: number): number | undefined => {
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

/** A fetch for one backend, that answers only with an event stream, and rejects with nothing but a `ModelError` or the caller's reason. */
export const createBackendFetch = (needs: BackendFetchNeeds, backend: ModelBackend): typeof fetch => {
  const { fetcher, clock, userAgent, limits } = needs;
  const { headerMs, gapMs, wholeMs } = limits;
  const { providerID } = backend;
  const who = `The provider "${providerID}"`;
  const secrets = [backend.apiKey ?? '', ...Object.values(backend.headers)];

  const refused = async (response: Response, watch: ExchangeLimiter): Promise<ModelError> => {
    const { status: statusCode, headers } = response;
    const shouldRetry = headers.get('x-should-retry');
    // What kept the body from arriving matters less than the status that came.
    const text = await watch.readText(response.body, { limitMs: gapMs, limitBytes: ERROR_LIMIT_BYTES }).catch(() => '');
    return createProviderError({
      providerID,
      statusCode,
      body: parseJson(text),
      retryAfterMs: parseRetryAfterMs(headers, clock.now()),
      mayRetry: shouldRetry === 'true' ? true : shouldRetry === 'false' ? false : undefined,
      secrets,
    });
  };

  const wholeAnswer = async ({ status: statusCode, body }: Response, watch: ExchangeLimiter): Promise<string> => {
    const answer = parseJson(await watch.readText(body, { limitMs: gapMs, limitBytes: ANSWER_LIMIT_BYTES }));
    if (isRecord(answer) && answer.error !== undefined && answer.error !== null) {
      throw createProviderError({ providerID, statusCode: undefined, body: answer, secrets });
    }
    const stream = toCompletionStream(answer);
    if (stream !== undefined) return stream;
    throw new ModelError('api', `${who} answered in one piece that is no chat completion, and was asked for a stream`, {
      statusCode,
    });
  };

  const streamIn = async (response: Response, watch: ExchangeLimiter): Promise<Response> => {
    const headers = { 'content-type': 'text/event-stream' };
    const type = response.headers.get('content-type') ?? '';
    if (/^\s*application\/json\b/i.test(type)) {
      const text = await wholeAnswer(response, watch);
      watch.end();
      return new Response(text, { headers });
    }
    if (/^\s*text\/html\b/i.test(type)) {
      throw new ModelError('api', `${who} answered with a web page: the baseURL leads elsewhere`);
    }
    if (response.body === null) throw new ModelError('cut-off', `${who} gave an empty answer`, { isRetryable: true });
    return new Response(watch.body(response.body, { limitMs: gapMs, limitBytes: ANSWER_LIMIT_BYTES }), {
      headers,
    });
  };

  return async (input, init = {}) => {
    const watch = createExchangeLimiter({ clock, who, wholeLimitMs: wholeMs, signal: init.signal ?? undefined });
    try {
      const headers = createHeaders(init, backend, userAgent);
      const asked = fetcher(String(input), { ...init, headers, redirect: 'manual', signal: watch.signal });
      const response = await watch.withTimeout(headerMs, asked);
      if (!response.ok) throw await refused(response, watch);
      return await streamIn(response, watch);
    } catch (error) {
      watch.abort();
      throw watch.toError(error);
    }
  };
};
