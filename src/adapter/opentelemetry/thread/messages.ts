import type { SpanContext } from '@opentelemetry/api';
import { TraceState } from '@opentelemetry/core';
import { resourceFromAttributes } from '@opentelemetry/resources';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';

type SentContext = Omit<SpanContext, 'traceState'> & { readonly traceState: string | undefined };

type SentSpan = Pick<ReadableSpan, 'name' | 'kind' | 'startTime' | 'endTime' | 'status' | 'attributes'> & {
  readonly context: SentContext;
  readonly parent: SentContext | undefined;
};

/** Spans of one process in a form that messages to a thread can have. Ours have no events and no links. */
export type SentSpans = Pick<ReadableSpan, 'instrumentationScope'> & {
  readonly resource: ReadableSpan['resource']['attributes'];
  readonly spans: readonly SentSpan[];
};

/** To the thread: spans to send, with the number of the question. */
export type SendQuestion = { readonly id: number; readonly sent: SentSpans };

/** From the thread: that they are sent, or why not. */
export type SendAnswer = { readonly id: number; readonly reason: string | undefined };

const toContext = ({ traceState, ...context }: SpanContext): SentContext => ({
  ...context,
  traceState: traceState?.serialize(),
});

const toSpanContext = ({ traceState, ...context }: SentContext): SpanContext => ({
  ...context,
  ...(traceState === undefined ? {} : { traceState: new TraceState(traceState) }),
});

/** Makes a message of the spans of one process; undefined without any. */
export const toSentSpans = (spans: readonly ReadableSpan[]): SentSpans | undefined => {
  const [first] = spans;
  return first === undefined
    ? undefined
    : {
        resource: first.resource.attributes,
        instrumentationScope: first.instrumentationScope,
        spans: spans.map((span) => ({
          name: span.name,
          kind: span.kind,
          startTime: span.startTime,
          endTime: span.endTime,
          status: span.status,
          attributes: span.attributes,
          context: toContext(span.spanContext()),
          parent: span.parentSpanContext === undefined ? undefined : toContext(span.parentSpanContext),
        })),
      };
};

/** The spans of a message, as exporters take them. */
export const toReadableSpans = ({ resource: attributes, instrumentationScope, spans }: SentSpans): ReadableSpan[] => {
  const resource = resourceFromAttributes(attributes);
  return spans.map(({ context, parent, ...span }) => ({
    ...span,
    ...(parent === undefined ? {} : { parentSpanContext: toSpanContext(parent) }),
    spanContext: () => toSpanContext(context),
    ...{ resource, instrumentationScope, events: [], links: [], ended: true, duration: [0, 0] },
    ...{ droppedAttributesCount: 0, droppedEventsCount: 0, droppedLinksCount: 0 },
  }));
};
