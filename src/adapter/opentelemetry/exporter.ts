import { type ExportResult, ExportResultCode } from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace';
import type { Log } from '../../core/log.ts';
import type { TracingSettings } from './settings.ts';

/** How many requests to the collector run at a time. What comes meanwhile waits in the queue of the spans, which is bounded. */
const CONCURRENCY = 2;

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
