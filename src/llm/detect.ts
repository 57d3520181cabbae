import * as v from 'valibot';
import { untilAborted } from '../core/async.ts';
import type { Clock } from '../core/clock.ts';
import { type HttpClient, HttpClientError } from '../core/http/client.ts';
import { parseJson } from '../core/json.ts';
import { detectKnownError } from './known-errors.ts';
import { ollama } from './ollama.ts';
import { openai } from './openai.ts';
import type { Dialect } from './types.ts';

/** In its OpenAI dialect, Ollama lists models with this owner. */
const OllamaModels = v.object({ data: v.pipe(v.array(v.object({ owned_by: v.literal('library') })), v.minLength(1)) });
const OllamaVersion = v.object({ version: v.string() });
const ANSWER_LIMIT_BYTES = 1_048_576;

type DetectNeeds = Pick<Backend, 'baseUrl' | 'httpClient'> & {
  readonly headers: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
};

/** A dialect, and whether the server proved it. An assumed one serves one call and is not remembered. */
export type DetectedDialect = { readonly dialect: Dialect; readonly isCertain: boolean };

/** The code of a server that cannot tell its dialect yet, because it is loading its model. */
export const BACKEND_BUSY = 'BACKEND_BUSY';

/** The server refuses this key, or every caller for now: it may have any dialect. */
const isAccessRefused = (status: number): boolean => status === 401 || status === 403 || status === 429;

/**
 * Detects the dialect of a self-hosted server. Ollama serves both, so its own is tried first: only there can the
 * truncation of long prompts be turned off. Where the key is refused Ollama is assumed: the call will be refused as well,
 * and nothing is truncated if not. Undefined when the server has neither. Throws an `HttpClientError` when it cannot
 * be reached.
 */
export const detectDialect = async ({
  baseUrl,
  httpClient,
  headers,
  signal,
}: DetectNeeds): Promise<DetectedDialect | undefined> => {
  const fetchPath = (path: string) =>
    httpClient({ method: 'GET', url: baseUrl + path, headers, signal, limitBytes: ANSWER_LIMIT_BYTES });
  const version = await fetchPath('/api/version');
  // A failing host may be Ollama, whose OpenAI dialect silently truncates long prompts.
  if (version.status >= 500) {
    const isBusy = detectKnownError(version.status, version.text)?.kind === 'busy';
    throw new HttpClientError(isBusy ? BACKEND_BUSY : `HTTP_${version.status}`);
  }
  if (isAccessRefused(version.status)) return { dialect: ollama, isCertain: false };
  const isOllama = version.status === 200 && parseJson(OllamaVersion, version.text) !== undefined;
  if (isOllama) return { dialect: ollama, isCertain: true };
  const models = await fetchPath(openai.modelsPath);
  // This dialect of Ollama silently truncates long prompts, so that a verdict may cover half a text.
  if (models.status === 200 && parseJson(OllamaModels, models.text) !== undefined) {
    throw new HttpClientError('OLLAMA_WITHOUT_ITS_API');
  }
  // A server that refuses the key still proves that it has the path.
  const isOpenAi =
    isAccessRefused(models.status) || (models.status === 200 && openai.parseModels(models.text) !== undefined);
  return isOpenAi ? { dialect: openai, isCertain: true } : undefined;
};

/**
 * The dialect of a backend. `current` detects it once for all callers, so it takes no caller's signal; after `forget` it
 * is detected again.
 */
export type DialectChoice = {
  /** At once when it is known. Rejects with an `HttpClientError` when the server cannot be reached. */
  readonly current: () => Dialect | Promise<Dialect | undefined>;
  readonly forget: () => void;
};

/** A backend as calls reach it. */
export type Backend = {
  readonly baseUrl: string;
  readonly dialect: DialectChoice;
  readonly httpClient: HttpClient;
  readonly clock: Clock;
};

/** The dialect of a choice. Rejects as `current` does, and with the signal's reason when it aborts before that. */
export const currentDialect = (choice: DialectChoice, signal: AbortSignal): ReturnType<DialectChoice['current']> => {
  const current = choice.current();
  return current instanceof Promise ? untilAborted(current, signal) : current;
};

/** A configured dialect: nothing is detected. */
export const createFixedDialect = (dialect: Dialect): DialectChoice => ({ current: () => dialect, forget() {} });

/** A dialect found by `detect`. The next caller runs it again after a failure or a result that is not certain. */
export const createDetectedDialect = (detect: () => Promise<DetectedDialect | undefined>): DialectChoice => {
  let known: Dialect | Promise<Dialect | undefined> | undefined;
  const forget = (detection: Promise<Dialect | undefined>): void => {
    if (known === detection) known = undefined;
  };
  return {
    current() {
      if (known !== undefined) return known;
      const detection = detect().then(
        (detected) => {
          if (!detected?.isCertain) forget(detection);
          else if (known === detection) known = detected.dialect;
          return detected?.dialect;
        },
        (error: unknown) => {
          forget(detection);
          throw error;
        },
      );
      known = detection;
      return detection;
    },
    forget() {
      known = undefined;
    },
  };
};
