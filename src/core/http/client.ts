/** One HTTP exchange with a backend, whole: LLM verdicts are small, so bodies are read to their end within a bound. */
export type HttpRequest = {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal: AbortSignal;
  /** A longer answer is given up, as an `HttpClientError`. */
  readonly limitBytes: number;
  /** To do it twice makes no difference: it may take a connection that the server may have closed just now. */
  readonly isRepeatable?: boolean;
  /** Called with the head of the answer before its body is read, by a client that has it then. */
  readonly onHead?: ((head: Pick<HttpResponse, 'status' | 'header'>) => void) | undefined;
};

export type HttpResponse = {
  readonly status: number;
  /** A header's value by its lower-case name. */
  readonly header: (name: string) => string | null;
  readonly text: string;
};

/**
 * Sends and receives. Rejects with the signal's reason when it aborts, and with an `HttpClientError` for everything that
 * goes wrong below HTTP. Redirects are answers, never followed: a key must not travel to another host.
 */
export type HttpClient = (sent: HttpRequest) => Promise<HttpResponse>;

/** No whole answer arrived. `code` is the platform's own word for it (`ECONNRESET`), never a message or an address. */
export class HttpClientError extends Error {
  override readonly name = 'HttpClientError';
  readonly code: string;

  constructor(code: string) {
    super(`No answer from the backend: ${code}`);
    this.code = code;
  }
}

/** Failures of a connection that was never made. A reset or a timeout may have come after the request. */
const NEVER_CONNECTED = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'CONNECT_TIMEOUT',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'ERR_TLS_CERT_ALTNAME_INVALID',
  'CERT_HAS_EXPIRED',
]);

/** Whether a failure's code proves that nothing was sent. */
export const isNeverConnected = (code: string): boolean => NEVER_CONNECTED.has(code);

/** An answer whose body goes on. A caller that does not read it to its end aborts the signal that it was opened with. */
export type HttpStream = {
  readonly status: number;
  /** A header's value by its lower-case name. */
  readonly header: (name: string) => string | null;
  /** The body as it comes, to be read once. Rejects like an `HttpClient`. */
  readonly chunks: AsyncIterable<Uint8Array>;
};

/**
 * Sends a GET, or a POST of the body that it is given, and settles with the head of its answer. Rejects like an `HttpClient`, and
 * has no limits of time either.
 */
export type OpenHttpStream = (asked: Pick<HttpRequest, 'url' | 'headers' | 'body' | 'signal'>) => Promise<HttpStream>;

const readText = async (body: ReadableStream<Uint8Array>, limitBytes: number): Promise<string> => {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let text = '';
  let bytes = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode();
    bytes += value.byteLength;
    if (bytes > limitBytes) {
      await reader.cancel().catch(() => {});
      throw new HttpClientError('ANSWER_TOO_LARGE');
    }
    text += decoder.decode(value, { stream: true });
  }
};

const codeOf = (error: unknown): string => {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined;
  return typeof code === 'string' && /^\w{1,64}$/.test(code) ? code : 'CONNECTION_FAILED';
};

/** An exchange over the platform's own `fetch`, for runtimes without a faster way. */
export const httpClientOverFetch =
  (fetcher: typeof fetch): HttpClient =>
  async ({ method, url, headers, body, signal, limitBytes }) => {
    try {
      const response = await fetcher(url, {
        method,
        headers,
        signal,
        redirect: 'manual',
        ...(body === undefined ? {} : { body }),
      });
      const text = response.body === null ? '' : await readText(response.body, limitBytes);
      return { status: response.status, header: (name) => response.headers.get(name), text };
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      throw error instanceof HttpClientError ? error : new HttpClientError(codeOf(error));
    }
  };
