import { createHash, randomBytes } from 'node:crypto';
import type { HttpClient, HttpRequest, HttpResponse } from '../../../src/core/http/client.ts';
import type { Handler } from '../../../src/core/http/handler.ts';
import { createLog } from '../../../src/core/log.ts';
import { createGateway, type GatewayNeeds } from '../../../src/gateway/app.ts';
import { SILENT_GATEWAY_METRICS } from '../../../src/gateway/metrics.ts';
import { CATEGORIES } from '../../../src/gateway/policy/categories.ts';
import { DEFAULT_POLICY, onePolicy } from '../../../src/gateway/policy/policy.ts';
import { readGatewayConfig } from '../../../src/gateway/settings/config.ts';
import { createFakeClock, type FakeClock } from '../../fake-clock.ts';

export const GATEWAY_KEY = 'gateway-key-1';

/** A backend's answer: what it holds, or a function of what was asked. */
export type Answer = (sent: HttpRequest) => HttpResponse | Promise<HttpResponse>;

/** An answer of a server, by status, text and headers. */
export const received = (
  status: number,
  text: string,
  headers: Readonly<Record<string, string>> = {},
): HttpResponse => ({
  status,
  text,
  header: (name) => headers[name] ?? null,
});

/** The user's message of a call, in either dialect. */
export const userMessageOf = ({ body = '' }: HttpRequest): string => {
  const { messages } = JSON.parse(body) as { messages: { content: string | { text?: string }[] }[] };
  const content = messages.at(-1)?.content ?? '';
  return typeof content === 'string' ? content : (content[0]?.text ?? '');
};
export const systemMessageOf = ({ body = '' }: HttpRequest): string =>
  (JSON.parse(body) as { messages: { content: string }[] }).messages[0]?.content ?? '';
/** The backend key that a call went out with. */
export const keyOf = ({ headers }: HttpRequest): string => headers.authorization?.replace('Bearer ', '') ?? 'no key';
export const nonceOf = (sent: HttpRequest): string =>
  /\[\[text (\d{12})\]\]/.exec(userMessageOf(sent))?.[1] ?? 'no nonce';
/** The text that the judge was shown, between its markers. */
export const shownTextOf = (sent: HttpRequest): string =>
  /\[\[text (\d{12})\]\]\n([\s\S]*)\n\[\[end \1\]\]/.exec(userMessageOf(sent))?.[2] ?? '';

/** A verdict as a judge writes it: zero but for the codes given. The word agrees with the scores unless it is given. */
export const verdictJson = (nonce: string, given: Readonly<Record<string, unknown>> = {}): string => {
  const isOver = Object.values(given).some((score) => Number(score) >= 50);
  const clean = Object.fromEntries(CATEGORIES.map(({ code }) => [code, 0]));
  return JSON.stringify({ ...clean, word: isOver ? 'over' : 'under', ...given, nonce });
};

/** The tokens of a prompt by a tokenizer that takes four characters for a token, and never two words. */
export const promptTokensOf = ({ body = '' }: HttpRequest): number =>
  Math.max(Math.ceil(body.length / 4), body.split(' ').length);

/** What a dialect's server answers when its model says `content`. */
export const replying = (sent: HttpRequest, content: string | null): HttpResponse => {
  const { model } = JSON.parse(sent.body ?? '{}') as { model: string };
  return sent.url.endsWith('/api/chat')
    ? received(
        200,
        JSON.stringify({
          model,
          message: { role: 'assistant', content },
          done: true,
          done_reason: 'stop',
          prompt_eval_count: promptTokensOf(sent),
          eval_count: 70,
        }),
      )
    : received(
        200,
        JSON.stringify({
          model,
          choices: [{ message: { role: 'assistant', content }, finish_reason: 'stop' }],
          usage: { prompt_tokens: promptTokensOf(sent), completion_tokens: 70 },
        }),
      );
};

/** A judge that always finds the same. */
export const judging =
  (scores: Readonly<Record<string, unknown>> = {}): Answer =>
  (sent) =>
    replying(sent, verdictJson(nonceOf(sent), scores));

type World = {
  readonly app: Handler;
  readonly clock: FakeClock;
  /** Every chat call that reached the backend. */
  readonly calls: readonly HttpRequest[];
  readonly logged: readonly string[];
  /** Asks for a moderation with the right key. */
  readonly ask: (body: unknown, headers?: Readonly<Record<string, string>>, signal?: AbortSignal) => Promise<Response>;
  /** Asks for a path with the right key, unless `headers` hold another. */
  readonly visit: (path: string, method?: string, headers?: Readonly<Record<string, string>>) => Promise<Response>;
};

/** What a server tells about a model that can do everything: Ollama's answer to /api/show. */
export const ABLE_MODEL = {
  capabilities: ['completion', 'tools', 'thinking', 'vision'],
  template: '{{ range .Messages }}{{ .Content }}{{ end }}',
};

export type WorldSettings = {
  /** What the backend answers when it is asked about a model; without it, every model can do everything. */
  readonly show?: Answer;
  readonly variables?: Readonly<Record<string, string>>;
  readonly needs?: Partial<GatewayNeeds>;
};

/** A gateway whose backend is `answer`, with time standing still until it is told to go on. */
export const gatewayOver = (
  answer: Answer,
  { variables = {}, needs = {}, show = () => received(200, JSON.stringify(ABLE_MODEL)) }: WorldSettings = {},
): World => {
  const clock = createFakeClock();
  const calls: HttpRequest[] = [];
  const logged: string[] = [];
  const config = readGatewayConfig({
    MODERATION_API_KEYS: GATEWAY_KEY,
    BACKEND_API_KEYS: 'backend-key-1,backend-key-2,backend-key-3',
    ...variables,
  });
  if (config.backend === undefined) throw new Error('Expected a backend in the variables');
  const secrets = config.backend.keys.length === 0 ? [''] : config.backend.keys;
  const httpClient: HttpClient = async (sent) => {
    if (sent.url.endsWith('/api/show')) return untilGone(Promise.resolve(show(sent)), sent.signal);
    if (sent.method === 'POST') calls.push(sent);
    return untilGone(Promise.resolve(answer(sent)), sent.signal);
  };
  const app = createGateway({
    ...config,
    backend: {
      ...config.backend,
      keys: secrets.map((secret) => ({
        secret,
        fingerprint: createHash('sha256').update(secret).digest('hex').slice(0, 8),
      })),
    },
    policies: onePolicy(DEFAULT_POLICY),
    httpClient,
    clock,
    digest: (text) => createHash('sha256').update(text).digest('hex'),
    newId: () => randomBytes(18).toString('hex'),
    newNonce: () => String(randomBytes(6).readUIntBE(0, 6) % 10 ** 12).padStart(12, '0'),
    log: createLog({ level: 'debug', service: 'gateway', clock, write: (line) => logged.push(line) }),
    metrics: SILENT_GATEWAY_METRICS,
    version: '0.1.0',
    isStopping: () => false,
    memoryBytes: 1024 ** 3,
    ...needs,
  });
  const ask: World['ask'] = (body, headers = {}, signal) =>
    app(
      new Request('http://gateway.test/v1/moderations', {
        method: 'POST',
        headers: { authorization: `Bearer ${GATEWAY_KEY}`, 'content-type': 'application/json', ...headers },
        body: typeof body === 'string' ? body : JSON.stringify(body),
        ...(signal === undefined ? {} : { signal }),
      }),
    );
  const visit: World['visit'] = (path, method = 'GET', headers = {}) =>
    app(
      new Request(`http://gateway.test${path}`, {
        method,
        headers: { authorization: `Bearer ${GATEWAY_KEY}`, ...headers },
      }),
    );
  return { app, clock, calls, logged, ask, visit };
};

const untilGone = <T>(answer: Promise<T>, signal: AbortSignal): Promise<T> =>
  new Promise((resolve, reject) => {
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    answer.then(resolve, reject);
  });
