import * as v from 'valibot';
import { type HttpClient, HttpClientError } from '../core/http/client.ts';
import { parseJson } from '../core/json.ts';
import { ollama } from './ollama.ts';
import { openai } from './openai.ts';
import type { Dialect } from './types.ts';

/** Who owns the models in the list that Ollama gives in its other dialect. */
const OllamaModels = v.object({ data: v.pipe(v.array(v.object({ owned_by: v.literal('library') })), v.minLength(1)) });
const OllamaVersion = v.object({ version: v.string() });
const ANSWER_LIMIT_BYTES = 1_048_576;

export type DetectNeeds = {
  readonly baseUrl: string;
  readonly httpClient: HttpClient;
  readonly headers: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
};

/** A dialect, and whether the server showed it. What is only supposed serves one call and is not remembered. */
export type Detected = { readonly dialect: Dialect; readonly isCertain: boolean };

/** The door is shut to this key, or to everyone for now: the server behind it may be any. */
const isShut = (status: number): boolean => status === 401 || status === 403 || status === 429;

/**
 * Asks a self-hosted server which dialect it speaks. Ollama serves both, so its own is looked for first: only there
 * can the cutting of long prompts be turned off. Where the key is refused Ollama is supposed: the call will be refused
 * as well, and nothing is cut if not. Nothing when the server is neither; an `HttpClientError` when it is not reached.
 */
export const detectDialect = async ({
  baseUrl,
  httpClient,
  headers,
  signal,
}: DetectNeeds): Promise<Detected | undefined> => {
  const ask = (path: string) =>
    httpClient({ method: 'GET', url: baseUrl + path, headers, signal, limitBytes: ANSWER_LIMIT_BYTES });
  const version = await ask('/api/version');
  // A host in trouble may turn out to be Ollama, whose other dialect cuts long prompts without a word.
  if (version.status >= 500) throw new HttpClientError(`HTTP_${version.status}`);
  if (isShut(version.status)) return { dialect: ollama, isCertain: false };
  const isOllama = version.status === 200 && parseJson(OllamaVersion, version.text) !== undefined;
  if (isOllama) return { dialect: ollama, isCertain: true };
  const models = await ask(openai.modelsPath);
  // Asked this way it cuts long prompts without a word, so that a verdict may be on half a text.
  if (models.status === 200 && parseJson(OllamaModels, models.text) !== undefined) {
    throw new HttpClientError('OLLAMA_WITHOUT_ITS_API');
  }
  // A server that wants another key still shows by its refusal that it has the path.
  const isOpenAi = isShut(models.status) || (models.status === 200 && openai.modelsFrom(models.text) !== undefined);
  return isOpenAi ? { dialect: openai, isCertain: true } : undefined;
};

/** The dialect in force: `current` asks once for all callers, so it takes nobody's signal; `forget` has it asked again after a failure. */
export type DialectChoice = {
  /** Rejects with an `HttpClientError` when the server that should tell is not reached. */
  readonly current: () => Promise<Dialect | undefined>;
  readonly forget: () => void;
};

/** A dialect that was configured: there is nothing to ask. */
export const fixedDialect = (dialect: Dialect): DialectChoice => ({ current: async () => dialect, forget() {} });

/** A dialect found by asking. What is not certain is asked for again by the next caller, and so is a question that failed. */
export const detectedDialect = (ask: () => Promise<Detected | undefined>): DialectChoice => {
  let known: Promise<Dialect | undefined> | undefined;
  const forget = (asked: Promise<Dialect | undefined>): void => {
    if (known === asked) known = undefined;
  };
  return {
    current() {
      if (known !== undefined) return known;
      const asked = ask().then(
        (detected) => {
          if (!detected?.isCertain) forget(asked);
          return detected?.dialect;
        },
        (error: unknown) => {
          forget(asked);
          throw error;
        },
      );
      known = asked;
      return asked;
    },
    forget() {
      known = undefined;
    },
  };
};
