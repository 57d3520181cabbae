import { isRecord } from '../core/record.ts';
import type { BundledAdapter } from './bundled-adapters.ts';
import { type Effort, isEffort } from './model/adapters.ts';
import type { ModelTarget } from './model/types.ts';

type Json = null | string | number | boolean | Json[] | { [key: string]: Json | undefined };
type JsonRecord = { [key: string]: Json | undefined };

/** What an adapter is told of the options of a model. */
export type AiOptions = {
  readonly options: JsonRecord;
  /** How hard to think, for an adapter that makes of it whatever the model takes. */
  readonly reasoning?: Effort;
};

/** Of these models OpenAI's adapter knows by itself whether they reason. It would keep an effort from all others. */
const KNOWN_TO_OPENAI = /^(?:gpt-\d|chatgpt-|o\d)/;

/** What of a value is JSON. The SDK's types ask for it; a configuration holds nothing else. */
const jsonOf = (value: unknown): Json | undefined => {
  if (value === null || typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean')
    return value;
  if (Array.isArray(value)) return value.map((item) => jsonOf(item) ?? null);
  return isRecord(value) ? jsonRecord(value) : undefined;
};
const jsonRecord = (record: Readonly<Record<string, unknown>>): JsonRecord =>
  Object.fromEntries(Object.entries(record).map(([key, value]) => [key, jsonOf(value)]));

/** The options of a model as its adapter takes them. `reasoningEffort` reaches the backend through each of them. */
export const aiOptionsOf = (npm: BundledAdapter, { options, upstreamID }: ModelTarget): AiOptions => {
  const { reasoningEffort, ...others } = options;
  switch (npm) {
    case '@ai-sdk/openai-compatible':
      return { options: jsonRecord(options) };
    case '@ai-sdk/openai': {
      const isStranger = typeof reasoningEffort === 'string' && !KNOWN_TO_OPENAI.test(upstreamID);
      // Its word for the system's message would change, too, and other servers may not know the new one.
      const asReasoning = isStranger ? { forceReasoning: true, systemMessageMode: 'system' } : {};
      return { options: { ...asReasoning, ...jsonRecord(options) } };
    }
    case '@ai-sdk/anthropic':
      return { options: jsonRecord(others), ...(isEffort(reasoningEffort) ? { reasoning: reasoningEffort } : {}) };
    default:
      return npm satisfies never;
  }
};
