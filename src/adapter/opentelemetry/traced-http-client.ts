import { AsyncLocalStorage } from 'node:async_hooks';
import { type HttpClient, HttpClientError } from '../../core/http/client.ts';
import { type Span, serverAttributes } from '../../core/http/tracing.ts';

/** HTTP requests that are made in the span of the work which they are made for. */
type TracedHttpClient = {
  /** Each request is a span of its own below that, named by its method alone: paths hold ids. */
  readonly httpClient: HttpClient;
  /** Does work whose requests belong to this span. Without one nothing is kept. */
  readonly within: <T>(span: Span | undefined, work: () => Promise<T>) => Promise<T>;
};

/**
 * Finds the span of a request by the asynchronous work that it comes from. For a program with few calls and deep ones: services
 * hand spans on as values.
 */
export const createTracedHttpClient = (httpClient: HttpClient): TracedHttpClient => {
  const current = new AsyncLocalStorage<Span>();
  return {
    within: (span, work) => (span === undefined ? work() : current.run(span, work)),
    async httpClient(sent) {
      const span = current.getStore()?.begin(sent.method, 'client', {
        'http.request.method': sent.method,
        ...serverAttributes(sent.url),
      });
      if (span === undefined) return httpClient(sent);
      try {
        const received = await httpClient({ ...sent, headers: { ...sent.headers, ...span.context } });
        const { status } = received;
        span.end({ 'http.response.status_code': status, ...(status < 400 ? {} : { 'error.type': String(status) }) });
        return received;
      } catch (error) {
        span.end({ 'error.type': error instanceof HttpClientError ? error.code : 'aborted' });
        throw error;
      }
    },
  };
};
