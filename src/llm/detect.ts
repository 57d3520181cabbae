import * as v from 'valibot';
import type { Dialect } from './dialect.ts';
import type { Exchange } from './exchange.ts';
import { ollama } from './ollama.ts';
import { openai } from './openai.ts';
import { parseJson } from './parse-json.ts';

const OllamaVersion = v.object({ version: v.string() });
const ANSWER_LIMIT_BYTES = 1_048_576;

export type DetectNeeds = {
  readonly baseUrl: string;
  readonly exchange: Exchange;
  readonly headers: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
};

/**
 * Asks a self-hosted server which dialect it speaks. Ollama serves both, so its own is looked for first: only there
 * can the cutting of long prompts be turned off. Nothing when the server is not reached or is neither.
 */
export const detectDialect = async ({
  baseUrl,
  exchange,
  headers,
  signal,
}: DetectNeeds): Promise<Dialect | undefined> => {
  const ask = async (path: string) => {
    try {
      return await exchange({ method: 'GET', url: baseUrl + path, headers, signal, limitBytes: ANSWER_LIMIT_BYTES });
    } catch {
      signal.throwIfAborted();
      return undefined;
    }
  };
  const version = await ask('/api/version');
  // A host in trouble may turn out to be Ollama, whose other dialect cuts long prompts without a word.
  if (version === undefined || version.status === 429 || version.status >= 500) return undefined;
  if (version.status === 200 && parseJson(OllamaVersion, version.text) !== undefined) return ollama;
  const models = await ask(openai.modelsPath);
  // A server that wants another key still shows by its refusal that it has the path.
  const hasPath = models?.status === 401 || models?.status === 403;
  return hasPath || (models?.status === 200 && openai.modelsFrom(models.text) !== undefined) ? openai : undefined;
};

/** The dialect in force: `current` asks once for all callers, so it takes nobody's signal; `forget` has it asked again after a failure. */
export type DialectChoice = {
  readonly current: () => Promise<Dialect | undefined>;
  readonly forget: () => void;
};

/** A dialect that was configured: there is nothing to ask. */
export const fixedDialect = (dialect: Dialect): DialectChoice => ({ current: async () => dialect, forget() {} });

/** A dialect found by asking. What was not found is asked for again by the next caller, and so is a question that failed. */
export const askedDialect = (ask: () => Promise<Dialect | undefined>): DialectChoice => {
  let known: Promise<Dialect | undefined> | undefined;
  const forget = (asked: Promise<Dialect | undefined>): void => {
    if (known === asked) known = undefined;
  };
  return {
    current() {
      if (known !== undefined) return known;
      const asked = ask().then(
        (dialect) => {
          if (dialect === undefined) forget(asked);
          return dialect;
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
