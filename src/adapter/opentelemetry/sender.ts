import { type ExportResult, ExportResultCode } from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { CONCURRENCY, type Collector, type SpanSender } from './exporter.ts';

/** The status or the platform's code of a failed export. Its message may hold the collector's words or an address. */
const reasonOf = ({ code: result, error }: ExportResult): string | undefined => {
  if (result === ExportResultCode.SUCCESS) return undefined;
  const code: unknown = error !== undefined && 'code' in error ? error.code : undefined;
  if (typeof code === 'number') return `HTTP ${code}`;
  return typeof code === 'string' && /^\w{1,64}$/.test(code) ? code : 'no answer in time';
};

/** Creates a sender on OpenTelemetry's own exporter. */
export const createSender = ({ url, headers, timeoutMs }: Collector): SpanSender => {
  const exporter = new OTLPTraceExporter({
    url,
    headers: { ...headers },
    timeoutMillis: timeoutMs,
    concurrencyLimit: CONCURRENCY,
  });
  return {
    send: (spans) => new Promise((resolve) => exporter.export(spans, (result) => resolve(reasonOf(result)))),
    close: () => exporter.shutdown(),
  };
};
