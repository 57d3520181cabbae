import { type Span, type SpanAttributes, serverAttributes } from '../../core/http/tracing.ts';
import type { MessageTokens } from '../protocol/types.ts';
import { ModelError, type ModelTarget } from './types.ts';

/**
 * Begins the span of one request to a model, by the conventions for generative AI
 * (https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-spans/).
 */
export const beginModelCall = (parent: Span | undefined, { providerID, upstreamID, baseURL }: ModelTarget) =>
  parent?.begin(`chat ${upstreamID}`, 'client', {
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': providerID,
    'gen_ai.request.model': upstreamID,
    ...(baseURL !== undefined && URL.canParse(baseURL) ? serverAttributes(baseURL) : {}),
  });

/** The cache's tokens are part of the input, and reasoning of the output. */
const usageOf = ({ input, output, reasoning, cache }: MessageTokens): SpanAttributes => ({
  'gen_ai.usage.input_tokens': input + cache.read + cache.write,
  'gen_ai.usage.output_tokens': output + reasoning,
  'gen_ai.usage.cache_read.input_tokens': cache.read,
  'gen_ai.usage.cache_creation.input_tokens': cache.write,
  'gen_ai.usage.reasoning.output_tokens': reasoning,
});

/** Ends it. An error is recorded by its kind alone: its message may hold a backend's words. */
export const endModelCall = (
  span: Span | undefined,
  ended: {
    readonly outcome: 'answered' | 'failed' | 'left';
    readonly tokens: MessageTokens | undefined;
    readonly failure: unknown;
  },
): void => {
  const { outcome, tokens, failure } = ended;
  if (tokens === undefined) span?.end({ 'error.type': failure instanceof ModelError ? failure.kind : outcome });
  else span?.end(usageOf(tokens));
};
