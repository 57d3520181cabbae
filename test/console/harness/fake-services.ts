import {
  type HttpClient,
  HttpClientError,
  type HttpResponse,
  type OpenHttpStream,
} from '../../../src/core/http/client.ts';

/** What a fake service was sent. */
export type Sent = {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
};

/** A fake service: a status and a value of JSON, or a text, for each request. */
export type Answering = (
  sent: Sent,
) => { readonly status?: number; readonly value?: unknown; readonly text?: string } | undefined;

/** An event stream that a test writes to. */
export type OpenStream = {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
  readonly signal: AbortSignal;
  readonly send: (text: string) => void;
  readonly end: () => void;
};

const streamOf = (signal: AbortSignal) => {
  const waiting: Uint8Array[] = [];
  let isOver = false;
  let wake = (): void => {};
  signal.addEventListener('abort', () => wake(), { once: true });
  async function* chunks(): AsyncGenerator<Uint8Array> {
    for (;;) {
      const next = waiting.shift();
      if (next !== undefined) yield next;
      else if (isOver) return;
      else if (signal.aborted) throw signal.reason;
      else
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
    }
  }
  return {
    chunks: chunks(),
    send(text: string): void {
      waiting.push(new TextEncoder().encode(text));
      wake();
    },
    end(): void {
      isOver = true;
      wake();
    },
  };
};

/** Services by the address of each. One that is `away` refuses its connections, one that is `hanging` takes them and never answers. */
export const createFakeServices = (services: Readonly<Record<string, Answering>>) => {
  const away = new Set<string>();
  const hanging = new Set<string>();
  const sent: Sent[] = [];
  const streams: OpenStream[] = [];
  /** What opening a stream of a path fails with. */
  const failures = new Map<string, Error>();
  const find = (url: string): readonly [string, Answering] => {
    const [base, answer] = Object.entries(services).find(([each]) => url.startsWith(each)) ?? [];
    if (base === undefined || answer === undefined || away.has(base)) throw new HttpClientError('ECONNREFUSED');
    return [base, answer];
  };
  const httpClient: HttpClient = async ({ method, url, headers, body, limitBytes, signal }) => {
    signal.throwIfAborted();
    const [base, answer] = find(url);
    if (hanging.has(base))
      return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true }));
    const request = {
      method,
      path: url.slice(base.length),
      headers,
      body: body === undefined ? undefined : JSON.parse(body),
    };
    sent.push(request);
    const { status = 200, value = {}, text = JSON.stringify(value) } = answer(request) ?? { status: 404 };
    if (text.length > limitBytes) throw new HttpClientError('ANSWER_TOO_LARGE');
    const response: HttpResponse = { status, text, header: () => null };
    return response;
  };
  const stream: OpenHttpStream = async ({ url, headers, body, signal }) => {
    signal.throwIfAborted();
    const [base] = find(url);
    const failure = failures.get(url.slice(base.length));
    if (failure !== undefined) throw failure;
    const opened = streamOf(signal);
    streams.push({ url: url.slice(base.length), headers, body, signal, send: opened.send, end: opened.end });
    const type = url.includes('/export') ? 'application/x-ndjson' : 'text/event-stream';
    const named: Readonly<Record<string, string>> = { 'content-type': type, 'x-session-id': 'chat-1' };
    return { status: 200, header: (name) => named[name] ?? null, chunks: opened.chunks };
  };
  return { httpClient, stream, away, hanging, failures, sent, streams };
};
