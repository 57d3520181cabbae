import type { Clock } from '../../core/clock.ts';
import { isRecord } from '../../core/json.ts';
import { retryAfterMs } from '../../core/retry.ts';
import { problemFor } from './provider-errors.ts';
import { createWatch, type Watch } from './timeouts.ts';
import { ModelProblem } from './types.ts';

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
export const USUAL_LIMITS: BackendLimits = { headerMs: 300_000, gapMs: 300_000, wholeMs: 0 };

const callIn = (call: unknown, index: number): unknown => {
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
export const streamOfCompletion = (completion: unknown): string | undefined => {
  if (!isRecord(completion) || !Array.isArray(completion.choices)) return undefined;
  const [choice]: readonly unknown[] = completion.choices;
  if (!isRecord(choice) || !isRecord(choice.message)) return undefined;
  const { message } = choice;
  const calls: readonly unknown[] = Array.isArray(message.tool_calls) ? message.tool_calls : [];
  const delta = { ...message, ...(calls.length === 0 ? {} : { tool_calls: calls.map(callIn) }) };
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
export type Backend = {
  readonly providerID: string;
  readonly apiKey: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
};

const ERROR_LIMIT_BYTES = 64 * 1024;
const ANSWER_LIMIT_BYTES = 64 * 1024 * 1024;
const LONGEST_WAIT_MS = 3_600_000;

/** All headers are set here: what the SDK makes of names and keys is overruled by what the configuration says. */
const headersFor = (init: RequestInit, { apiKey, headers }: Backend, userAgent: string): Headers => {
  const all = new Headers(init.headers);
  all.set('user-agent', userAgent);
  // Without a key the SDK would send an empty one.
  for (const name of apiKey === undefined ? ['authorization', 'x-api-key'] : []) all.delete(name);
  for (const [name, value] of Object.entries(headers)) all.set(name, value);
  return all;
};

const askedWaitMs = (headers: Headers, now: number): number | undefined => {
  const exact = /^\d{1,12}(?:\.\d+)?$/.exec(headers.get('retry-after-ms')?.trim() ?? '')?.[0];
  if (exact !== undefined && Number(exact) > 0) return Math.min(LONGEST_WAIT_MS, Math.ceil(Number(exact)));
  return retryAfterMs(headers.get('retry-after'), now);
};

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
};

/** A fetch for one backend, that answers only with an event stream, and rejects with nothing but a `ModelProblem` or the caller's reason. */
export const createBackendFetch = (needs: BackendFetchNeeds, backend: Backend): typeof fetch => {
  const { fetcher, clock, userAgent, limits } = needs;
  const { headerMs, gapMs, wholeMs } = limits;
  const { providerID } = backend;
  const who = `The provider "${providerID}"`;
  const secrets = [backend.apiKey ?? '', ...Object.values(backend.headers)];

  const refused = async (response: Response, watch: Watch): Promise<ModelProblem> => {
    const { status: statusCode, headers } = response;
    const shouldRetry = headers.get('x-should-retry');
    // What kept the body from arriving matters less than the status that came.
    const text = await watch.text(response.body, { limitMs: gapMs, limitBytes: ERROR_LIMIT_BYTES }).catch(() => '');
    return problemFor({
      providerID,
      statusCode,
      body: parsed(text),
      retryAfterMs: askedWaitMs(headers, clock.now()),
      mayRetry: shouldRetry === 'true' ? true : shouldRetry === 'false' ? false : undefined,
      secrets,
    });
  };

  const wholeAnswer = async ({ status: statusCode, body }: Response, watch: Watch): Promise<string> => {
    const answer = parsed(await watch.text(body, { limitMs: gapMs, limitBytes: ANSWER_LIMIT_BYTES }));
    if (isRecord(answer) && answer.error !== undefined && answer.error !== null) {
      throw problemFor({ providerID, statusCode: undefined, body: answer, secrets });
    }
    const stream = streamOfCompletion(answer);
    if (stream !== undefined) return stream;
    throw new ModelProblem(
      'api',
      `${who} answered in one piece that is no chat completion, and was asked for a stream`,
      {
        statusCode,
      },
    );
  };

  const streamIn = async (response: Response, watch: Watch): Promise<Response> => {
    const headers = { 'content-type': 'text/event-stream' };
    const type = response.headers.get('content-type') ?? '';
    if (/^\s*application\/json\b/i.test(type)) {
      const text = await wholeAnswer(response, watch);
      watch.end();
      return new Response(text, { headers });
    }
    if (/^\s*text\/html\b/i.test(type)) {
      throw new ModelProblem('api', `${who} answered with a web page: the baseURL leads elsewhere`);
    }
    if (response.body === null) throw new ModelProblem('cut-off', `${who} gave an empty answer`, { isRetryable: true });
    return new Response(watch.body(response.body, { limitMs: gapMs, limitBytes: ANSWER_LIMIT_BYTES }), {
      headers,
    });
  };

  return async (input, init = {}) => {
    const watch = createWatch({ clock, who, wholeLimitMs: wholeMs, signal: init.signal ?? undefined });
    try {
      const headers = headersFor(init, backend, userAgent);
      const asked = fetcher(String(input), { ...init, headers, redirect: 'manual', signal: watch.signal });
      const response = await watch.within(headerMs, asked);
      if (!response.ok) throw await refused(response, watch);
      return await streamIn(response, watch);
    } catch (error) {
      watch.drop();
      throw watch.problemOf(error);
    }
  };
};
