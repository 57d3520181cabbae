import { Fault } from '../../../core/fault.ts';
import { type Span, serverAttributes, type TraceContext } from '../../../core/http/tracing.ts';

/**
 * Makes a POST in a span of its own below that of the request, if it has one. `template`: its path without ids. A failure is recorded by
 * the kind of its fault.
 */
export type TracedPost = <T>(
  parent: Span | undefined,
  template: string,
  post: (trace: TraceContext | undefined) => Promise<T>,
) => Promise<T>;

/** Creates what traces POSTs to the agent server at an address. Of several the balancer chooses one, and no span says which. */
export const createTracedPost = (baseUrl: string): TracedPost => {
  const server = URL.canParse(baseUrl) ? serverAttributes(baseUrl) : {};
  return async (parent, template, post) => {
    const attributes = { 'http.request.method': 'POST', 'url.template': template, ...server };
    const span = parent?.begin(`POST ${template}`, 'client', attributes);
    try {
      const result = await post(span?.context);
      span?.end();
      return result;
    } catch (error) {
      span?.end({ 'error.type': error instanceof Fault ? error.detail.kind : 'bug' });
      throw error;
    }
  };
};
