import { type Span, type SpanAttributes, serverAttributes } from '../core/http/tracing.ts';
import type { Attempt } from './attempt.ts';

/** How a call ended: its outcome, that it took too long beside other keys, or the kind of what was thrown. */
type CallOutcome = Attempt | 'hung' | { readonly kind: string };

/**
 * How a call ended, by the conventions for generative AI (https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-spans/). An error is
 * recorded by a name of ours alone: reasons hold what was read from a backend's words.
 */
const endOfCall = (outcome: CallOutcome): SpanAttributes => {
  if (outcome === 'hung') return { 'error.type': outcome };
  if (!('reply' in outcome)) return { 'error.type': outcome.kind };
  if (outcome.reply.kind !== 'answered') return { 'error.type': outcome.reply.kind };
  const { promptTokens, outputTokens, cachedTokens } = outcome.reply;
  return {
    'gen_ai.usage.input_tokens': promptTokens,
    'gen_ai.usage.output_tokens': outputTokens,
    ...(cachedTokens === undefined ? {} : { 'gen_ai.usage.cache_read.input_tokens': cachedTokens }),
  };
};

/** The spans of calls to the backend at an address: one for each call, also of a hedge, and of the next key. */
export const createCallSpans = (baseUrl: string) => {
  const server = serverAttributes(baseUrl);
  return {
    begin: (parent: Span | undefined, model: string): Span | undefined =>
      parent?.isRecorded !== true
        ? parent
        : parent.begin(`chat ${model}`, 'client', {
            'gen_ai.operation.name': 'chat',
            'gen_ai.request.model': model,
            ...server,
          }),
    end(span: Span | undefined, outcome: CallOutcome): void {
      if (span?.isRecorded === true) span.end(endOfCall(outcome));
    },
  };
};
/** What `createCallSpans` creates. */
export type CallSpans = ReturnType<typeof createCallSpans>;
