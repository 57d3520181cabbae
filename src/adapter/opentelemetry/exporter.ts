import { type ExportResult, ExportResultCode } from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace';
import type { Log } from '../../core/log.ts';
import type { TracingSettings } from './settings.ts';

/** Spans that have ended and wait to be sent. The next ones are dropped. */
export const QUEUE_LIMIT = 2048;
/** Spans in one request. */
export const BATCH_LIMIT = 512;
/** How many requests to the collector run at a time: one, and at the end all that the queue of the spans holds. More are dropped. */
const CONCURRENCY = 1 + QUEUE_LIMIT / BATCH_LIMIT;

/** The status or the platform's code of a failed export. Its message may hold the collector's words or an address. */
const reasonOf = ({ error }: ExportResult): string => {
  const code: unknown = error !== undefined && 'code' in error ? error.code : undefined;
  if (typeof code === 'number') return `HTTP ${code}`;
  return typeof code === 'string' && /^\w{1,64}$/.test(code) ? code : 'no answer in time';
};

/** Sends spans to the collector. What cannot be sent is dropped, and logged when it begins and when it is over: never for each. */
export const createExporter = ({ url, headers, timeoutMs }: TracingSettings, log: Log): SpanExporter => {
  const exporter = new OTLPTraceExporter({
    url,
    headers: { ...headers },
    timeoutMillis: timeoutMs,
    concurrencyLimit: CONCURRENCY,
  });
  let isFailing = false;
  return {
    export(spans: ReadableSpan[], settle) {
      exporter.export(spans, (result) => {
        const hasFailed = result.code !== ExportResultCode.SUCCESS;
        if (hasFailed !== isFailing) {
          isFailing = hasFailed;
          if (hasFailed) log('warn', 'spans-not-sent', { reason: reasonOf(result) });
          else log('info', 'spans-sent-again');
        }
        // The library would write each failure to the console.
        settle({ code: ExportResultCode.SUCCESS });
      });
    },
    forceFlush: () => exporter.forceFlush(),
    shutdown: () => exporter.shutdown(),
  };
};
