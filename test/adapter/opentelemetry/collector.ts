import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { CreateSender } from '../../../src/adapter/opentelemetry/exporter.ts';
import { createSender } from '../../../src/adapter/opentelemetry/sender.ts';
import { readTracingSettings } from '../../../src/adapter/opentelemetry/settings.ts';
import { createTracing, type Tracing } from '../../../src/adapter/opentelemetry/tracing.ts';

type Value = {
  stringValue?: string;
  intValue?: number | string;
  doubleValue?: number;
  arrayValue?: { values: Value[] };
};
type Attribute = { key: string; value: Value };
type SentSpan = {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  kind: number;
  attributes: Attribute[];
  status: { code?: number };
  traceState?: string;
};
type SentSpans = {
  resourceSpans: { resource: { attributes: Attribute[] }; scopeSpans: { spans: SentSpan[] }[] }[];
};

/** A span as the collector has it. `kind`: 1 internal, 2 server, 3 client. */
export type CollectedSpan = Omit<SentSpan, 'attributes' | 'status'> & {
  readonly service: unknown;
  readonly resource: Readonly<Record<string, unknown>>;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly isError: boolean;
};

const valueIn = ({ stringValue, intValue, doubleValue, arrayValue }: Value): unknown =>
  stringValue ?? (intValue === undefined ? doubleValue : Number(intValue)) ?? arrayValue?.values.map(valueIn);
const named = (attributes: readonly Attribute[]): Record<string, unknown> =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, valueIn(value)]));

const spansIn = ({ resourceSpans }: SentSpans): CollectedSpan[] =>
  resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) =>
      spans.map(({ attributes, status, ...span }) => ({
        ...span,
        service: named(resource.attributes)['service.name'],
        resource: named(resource.attributes),
        attributes: named(attributes),
        isError: status.code === 2,
      })),
    ),
  );

/** A collector of spans over OTLP/HTTP in JSON. */
export type Collector = {
  /** What `OTEL_EXPORTER_OTLP_ENDPOINT` is set to. */
  readonly url: string;
  readonly spans: CollectedSpan[];
  /** Everything that was sent, as it was sent. */
  readonly texts: string[];
  readonly heads: { readonly path: string | undefined; readonly headers: IncomingHttpHeaders }[];
  /** The only span of this name. */
  readonly span: (name: string) => CollectedSpan;
  /** Settles once a span of this name has arrived. */
  readonly until: (name: string) => Promise<CollectedSpan>;
  readonly close: () => Promise<void>;
};

/** Starts a collector on a free port of this machine. `status`: what it answers. */
export const startCollector = async (status: () => number = () => 200): Promise<Collector> => {
  const spans: CollectedSpan[] = [];
  const texts: string[] = [];
  const heads: { path: string | undefined; headers: IncomingHttpHeaders }[] = [];
  let arrived = Promise.withResolvers<void>();
  const server = createServer(async (request, response) => {
    let text = '';
    for await (const chunk of request.setEncoding('utf8')) text += chunk;
    heads.push({ path: request.url, headers: request.headers });
    const code = status();
    if (code === 200) {
      texts.push(text);
      spans.push(...spansIn(JSON.parse(text) as SentSpans));
    }
    response.writeHead(code, { 'content-type': 'application/json' }).end('{}');
    arrived.resolve();
    arrived = Promise.withResolvers();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const span = (name: string): CollectedSpan => {
    const [only, another] = spans.filter((one) => one.name === name);
    if (only === undefined || another !== undefined)
      throw new Error(`Expected one span ${name}, found ${spans.map((one) => one.name).join(', ')}`);
    return only;
  };
  return {
    url: `http://127.0.0.1:${port}`,
    spans,
    texts,
    heads,
    span,
    async until(name) {
      while (!spans.some((one) => one.name === name)) await arrived.promise;
      return span(name);
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
};

/** Tracing of a service to a collector, as its variables have it, and the events that it logs. `sender`: what sends its spans. */
export const tracingTo = (
  url: string,
  service: string,
  variables: Readonly<Record<string, string>> = {},
  sender: CreateSender = createSender,
): Tracing & { readonly logged: string[] } => {
  const logged: string[] = [];
  const settings = readTracingSettings({ OTEL_EXPORTER_OTLP_ENDPOINT: url, ...variables });
  if (settings === undefined) throw new Error('Expected tracing to be on');
  const log = (level: string, event: string, fields: object = {}) =>
    void logged.push(`${level} ${event} ${JSON.stringify(fields)}`);
  return { ...createTracing(settings, { service, version: '0.1.0', log, createSender: sender }), logged };
};

/** The trace of a caller, and the span of it that a service's own span is in. */
export const CALLER = { traceId: '4bf92f3577b34da6a3ce929d0e0e4736', spanId: '00f067aa0ba902b7' } as const;
export const CALLERS_TRACEPARENT = `00-${CALLER.traceId}-${CALLER.spanId}-01`;
