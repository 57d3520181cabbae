/**
 * A place in a trace, as the headers that carry it to the next service (https://www.w3.org/TR/trace-context/). Spread it into the
 * headers of a request, or into the `_meta` of an MCP request, which uses the same names.
 */
export type TraceContext = { readonly traceparent: string; readonly tracestate?: string };

/** Facts about an operation. Never a text, an argument, a key or a person's id. */
export type SpanAttributes = Readonly<Record<string, string | number | readonly string[]>>;

type SpanKind = 'server' | 'client' | 'internal';

/** An operation within a trace. It is passed along with the signal of what it is done for. */
export type Span = {
  /** What calls made for it carry. */
  readonly context: TraceContext;
  /** Whether it is kept: attributes of one that is not cost time for nothing. */
  readonly isRecorded: boolean;
  /** Begins an operation within it. */
  readonly begin: (name: string, kind: SpanKind, attributes?: SpanAttributes) => Span;
  readonly set: (attributes: SpanAttributes) => void;
  /** Ends it; with an `error.type` among the attributes as failed. What comes later has no effect. */
  readonly end: (attributes?: SpanAttributes) => void;
};

/** Begins the first span of a process, below the caller's if there is one; undefined where there is nothing to pass on. */
export type BeginSpan = (asked: {
  readonly name: string;
  readonly kind: SpanKind;
  readonly parent: TraceContext | undefined;
  /** Asked only for a span that is recorded. */
  readonly attributes: () => SpanAttributes;
}) => Span | undefined;

const nothing = (): void => {};

/** A span that is not recorded: all that is done in it carries the same context. */
export const createPassedSpan = (context: TraceContext): Span => {
  const span: Span = { context, isRecorded: false, begin: () => span, set: nothing, end: nothing };
  return span;
};

/** Records nothing, and passes the caller's context on as it came. */
export const passOn: BeginSpan = ({ parent }) => (parent === undefined ? undefined : createPassedSpan(parent));

const TRACEPARENT = /^([\da-f]{2})-(?!0{32})([\da-f]{32})-(?!0{16})([\da-f]{16})-([\da-f]{2})(-[\x21-\x7e]*)?$/;
const TRACESTATE = /^[\t\x20-\x7e]{1,512}$/;

/** The context among headers, or whatever else has values by name. Undefined where there is none, or none that is valid. */
export const readTraceContext = (read: (name: string) => unknown): TraceContext | undefined => {
  const given = read('traceparent');
  const [, version, traceId, spanId, flags = '', more] = (typeof given === 'string' && TRACEPARENT.exec(given)) || [];
  if (version === undefined || version === 'ff' || (version === '00' && more !== undefined)) return undefined;
  // Of later versions only what this one has is known. Of the flags it knows one, and passes on none that it does not know.
  const traceparent = `00-${traceId}-${spanId}-0${Number.parseInt(flags, 16) & 1}`;
  const tracestate = read('tracestate');
  const isUsable = typeof tracestate === 'string' && TRACESTATE.test(tracestate);
  return { traceparent, ...(isUsable ? { tracestate } : {}) };
};

/** The attributes of a call's server, by its address. */
export const serverAttributes = (url: string): SpanAttributes => {
  const { hostname, port, protocol } = new URL(url);
  return { 'server.address': hostname, 'server.port': Number(port) || (protocol === 'https:' ? 443 : 80) };
};

/** The spans of a service's requests. */
export type RequestSpans = {
  /** Begins the span of a request, as the conventions for HTTP servers have it. */
  readonly begin: (request: Request, about: { readonly method: string; readonly route: string }) => void;
  readonly of: (request: Request) => Span | undefined;
  readonly end: (request: Request, answered: { readonly status: number; readonly fault: string | undefined }) => void;
};

/** What probes and scrapes ask for every few seconds: recorded only within a trace of theirs. */
const UNTRACED = new Set(['/health', '/ready', '/metrics']);

/** Creates the spans of a service's requests. */
export const createRequestSpans = (beginSpan: BeginSpan): RequestSpans => {
  // A property, because a map of requests is in old memory: its tables keep requests that have ended until a full collection.
  const key = Symbol('span');
  const of = (request: Request): Span | undefined => Reflect.get(request, key);
  return {
    begin(request, { method, route }) {
      const parent = readTraceContext((name) => request.headers.get(name));
      if (parent === undefined && (beginSpan === passOn || UNTRACED.has(route))) return;
      const attributes = () => ({
        'http.request.method': method === 'other' ? '_OTHER' : method,
        'http.route': route,
      });
      const name = `${method === 'other' ? 'HTTP' : method} ${route}`;
      const span = beginSpan({ name, kind: 'server', parent, attributes });
      if (span !== undefined) Reflect.set(request, key, span);
    },
    of,
    end(request, { status, fault }) {
      const span = of(request);
      if (span?.isRecorded !== true) return;
      const failed = status < 500 ? {} : { 'error.type': fault ?? String(status) };
      span.end({ 'http.response.status_code': status, ...failed });
    },
  };
};
