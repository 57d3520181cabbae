import { untilAborted } from '../../src/core/async.ts';
import { type HttpClient, HttpClientError, type HttpRequest, type HttpResponse } from '../../src/core/http/client.ts';
import type { ChatCall } from '../../src/llm/types.ts';

export type Answer = {
  readonly status?: number;
  readonly text?: string;
  readonly headers?: Readonly<Record<string, string>>;
};
/** What the backend does with one call: it answers, fails below HTTP, is silent until the caller leaves, or answers later. */
export type Step = Answer | Error | 'silence' | Promise<Answer>;
export type Script = readonly Step[] | ((sent: HttpRequest, index: number) => Step);

/** One call as the backend saw it. `key` is its bearer, nothing when it came without one. */
type SeenCall = {
  readonly sent: HttpRequest;
  readonly path: string;
  readonly key: string | undefined;
  end: 'running' | 'answered' | 'failed' | 'aborted';
};

export const BASE_URL = 'http://backend.test:11434';

/** A word that only the backend says: wherever it turns up, something was passed on that must not be. */
export const CANARY = 'tr0ub4dor-someone@example.com';

const receivedFrom = ({ status = 200, text = '', headers = {} }: Answer): HttpResponse => ({
  status,
  header: (name) => headers[name] ?? null,
  text,
});

/** An exchange that keeps to the script and remembers who asked what. A call that the script does not know of is a bug. */
export const createScriptedExchange = (script: Script): { httpClient: HttpClient; calls: readonly SeenCall[] } => {
  const calls: SeenCall[] = [];
  const httpClient: HttpClient = async (sent) => {
    sent.signal.throwIfAborted();
    const step = typeof script === 'function' ? script(sent, calls.length) : script[calls.length];
    const { pathname, origin } = new URL(sent.url);
    if (origin !== BASE_URL) throw new TypeError(`Asked a stranger: ${origin}`);
    const key = sent.headers.authorization?.replace('Bearer ', '');
    const call: SeenCall = { sent, path: pathname, key, end: 'running' };
    calls.push(call);
    if (step === undefined) throw new TypeError(`Call ${calls.length} is not in the script`);
    try {
      const isSilent = step === 'silence';
      const answer = isSilent ? new Promise<Answer>(() => {}) : step instanceof Error ? Promise.reject(step) : step;
      const received = receivedFrom(await untilAborted(Promise.resolve(answer), sent.signal));
      call.end = 'answered';
      return received;
    } catch (error) {
      call.end = sent.signal.aborted ? 'aborted' : 'failed';
      throw error;
    }
  };
  return { httpClient, calls };
};

export const reset = (code = 'ECONNRESET'): HttpClientError => new HttpClientError(code);

export const CALL: ChatCall = {
  model: 'gpt-oss:20b',
  system: 'the policy',
  user: 'the text',
  contextTokens: 16_384,
  outputTokens: 1024,
};

/** Ollama's whole answer; `changes` replace or add top-level members. */
export const ollamaAnswer = (changes: Readonly<Record<string, unknown>> = {}): string =>
  JSON.stringify({
    model: 'gpt-oss:20b',
    created_at: '2026-11-01T00:00:00Z',
    message: { role: 'assistant', content: 'the verdict' },
    done: true,
    done_reason: 'stop',
    prompt_eval_count: 1200,
    eval_count: 80,
    ...changes,
  });

/** A chat completion of OpenAI's shape; `choice` changes its only choice, `changes` the top level. */
export const openaiAnswer = (
  choice: Readonly<Record<string, unknown>> = {},
  changes: Readonly<Record<string, unknown>> = {},
): string =>
  JSON.stringify({
    id: 'chatcmpl-1',
    object: 'chat.completion',
    model: 'gpt-oss:20b',
    choices: [{ index: 0, message: { role: 'assistant', content: 'the verdict' }, finish_reason: 'stop', ...choice }],
    usage: { prompt_tokens: 1200, completion_tokens: 80, total_tokens: 1280 },
    ...changes,
  });
