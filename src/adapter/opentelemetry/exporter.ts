import { ExportResultCode } from '@opentelemetry/core';
import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace';
import type { Log } from '../../core/log.ts';
import type { TracingSettings } from './settings.ts';

/** Spans that have ended and wait to be sent. The next ones are dropped. */
export const QUEUE_LIMIT = 2048;
/** Spans in one request. */
export const BATCH_LIMIT = 512;
/** How many requests to the collector run at a time: one, and at the end all that the queue of the spans holds. More are dropped. */
export const CONCURRENCY = 1 + QUEUE_LIMIT / BATCH_LIMIT;

/** Where spans go, and how long a request may take. */
export type Collector = Pick<TracingSettings, 'url' | 'headers' | 'timeoutMs'>;

/** What sends spans to the collector. */
export type SpanSender = {
  /** Undefined once they are sent, else why they are not: by then they are dropped. Never rejects. */
  readonly send: (spans: ReadableSpan[]) => Promise<string | undefined>;
  /** Ends once what is being sent has been answered or dropped. */
  readonly close: () => Promise<void>;
};

/** Creates what sends the spans of a service to this collector. It connects to nothing before the first spans. */
export type CreateSender = (collector: Collector) => SpanSender;

/** Sends spans to the collector. What cannot be sent is dropped, and logged when it begins and when it is over: never for each. */
export const createExporter = ({ send, close }: SpanSender, log: Log): SpanExporter => {
  let isFailing = false;
  return {
    async export(spans, settle) {
      const reason = await send(spans);
      if ((reason !== undefined) !== isFailing) {
        isFailing = reason !== undefined;
        if (reason === undefined) log('info', 'spans-sent-again');
        else log('warn', 'spans-not-sent', { reason });
      }
      // The library would write each failure to the console.
      settle({ code: ExportResultCode.SUCCESS });
    },
    shutdown: close,
  };
};
