import { randomBytes } from 'node:crypto';
import { type Span as OtelSpan, ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import { TraceState } from '@opentelemetry/core';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type Sampler,
  SamplingDecision,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import {
  type BeginSpan,
  createPassedSpan,
  type Span,
  type SpanAttributes,
  type TraceContext,
} from '../../core/http/tracing.ts';
import type { Log } from '../../core/log.ts';
import { BATCH_LIMIT, type CreateSender, createExporter, QUEUE_LIMIT } from './exporter.ts';
import type { Sampling, TracingSettings } from './settings.ts';

/** Spans of a service that are sent to a collector. */
export type Tracing = {
  readonly beginSpan: BeginSpan;
  /** Sends what has ended, and sends no more. Never rejects. */
  readonly close: () => Promise<void>;
};

type Origin = {
  readonly service: string;
  readonly version: string;
  readonly log: Log;
  readonly createSender: CreateSender;
};

const KINDS = { server: SpanKind.SERVER, client: SpanKind.CLIENT, internal: SpanKind.INTERNAL } as const;

const samplerOf = ({ share, asCaller }: Sampling): Sampler => {
  const ownChoice =
    share === 1 ? new AlwaysOnSampler() : share === 0 ? new AlwaysOffSampler() : new TraceIdRatioBasedSampler(share);
  return asCaller ? new ParentBasedSampler({ root: ownChoice }) : ownChoice;
};

const parentContext = ({ traceparent, tracestate }: TraceContext) => {
  const [, traceId = '', spanId = '', flags = ''] = traceparent.split('-');
  const traceState = tracestate === undefined ? {} : { traceState: new TraceState(tracestate) };
  return trace.setSpanContext(ROOT_CONTEXT, {
    traceId,
    spanId,
    traceFlags: Number(flags),
    isRemote: true,
    ...traceState,
  });
};

const contextOf = (span: OtelSpan): TraceContext => {
  const { traceId, spanId, traceFlags, traceState } = span.spanContext();
  const tracestate = traceState?.serialize() ?? '';
  const traceparent = `00-${traceId}-${spanId}-0${traceFlags & 1}`;
  return { traceparent, ...(tracestate === '' ? {} : { tracestate }) };
};

/** The bytes of random digits that are made at a time: for about 170 spans, each in a trace of its own. */
const RANDOM_BYTES = 4096;

/** Random lower-case hexadecimal digits. Ids are slices of one text: to make each for itself costs five times as much. */
const createDigits = (): ((count: number) => string) => {
  let digits = '';
  let used = 0;
  return (count) => {
    if (used + count > digits.length) {
      digits = randomBytes(RANDOM_BYTES).toString('hex');
      used = 0;
    }
    used += count;
    return digits.slice(used - count, used);
  };
};

/** The library takes lists only if it may change them. */
const plain = (attributes: SpanAttributes): Record<string, string | number | string[]> =>
  Object.fromEntries(
    Object.entries(attributes).map(([name, value]) => [name, typeof value === 'object' ? [...value] : value]),
  );

/** Begins to record and send the spans of a service. */
export const createTracing = (settings: TracingSettings, { service, version, log, createSender }: Origin): Tracing => {
  const exporter = createExporter(createSender(settings), log);
  const sampler = samplerOf(settings.sampling);
  const digits = createDigits();
  const newSpanId = () => digits(16);
  /** The id of the trace of the next span that has no parent. */
  let nextTraceId = '';
  const provider = new TracerProvider({
    resource: resourceFromAttributes({
      'service.namespace': 'gatehouse',
      'service.name': settings.serviceName ?? settings.resource['service.name'] ?? `gatehouse-${service}`,
      'service.version': version,
      ...Object.fromEntries(Object.entries(settings.resource).filter(([name]) => name !== 'service.name')),
    }),
    sampler,
    idGenerator: { generateTraceId: () => nextTraceId, generateSpanId: newSpanId },
    spanProcessors: [new BatchSpanProcessor({ exporter, maxQueueSize: QUEUE_LIMIT, maxExportBatchSize: BATCH_LIMIT })],
  });
  const tracer = provider.getTracer('gatehouse', version);
  const spanOf = (recorded: OtelSpan): Span => {
    const context = contextOf(recorded);
    return {
      context,
      isRecorded: true,
      begin: (name, kind, attributes = {}) =>
        spanOf(
          tracer.startSpan(
            name,
            { kind: KINDS[kind], attributes: plain(attributes) },
            trace.setSpan(ROOT_CONTEXT, recorded),
          ),
        ),
      set: (attributes) => void recorded.setAttributes(plain(attributes)),
      end(attributes = {}) {
        recorded.setAttributes(plain(attributes));
        if (attributes['error.type'] !== undefined) recorded.setStatus({ code: SpanStatusCode.ERROR });
        recorded.end();
      },
    };
  };
  return {
    beginSpan({ name, kind, parent, attributes }) {
      const within = parent === undefined ? ROOT_CONTEXT : parentContext(parent);
      const traceId = parent === undefined ? digits(32) : parent.traceparent.slice(3, 35);
      // Most traces may be left out, and the library makes a whole span to find that out.
      const { decision } = sampler.shouldSample(within, traceId, name, KINDS[kind], {}, []);
      if (decision === SamplingDecision.NOT_RECORD)
        return createPassedSpan({ ...parent, traceparent: `00-${traceId}-${newSpanId()}-00` });
      nextTraceId = traceId;
      return spanOf(tracer.startSpan(name, { kind: KINDS[kind], attributes: plain(attributes()) }, within));
    },
    close: () => provider.shutdown().catch(() => {}),
  };
};
