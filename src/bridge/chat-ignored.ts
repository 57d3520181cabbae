import { isRecord } from '../core/record.ts';
import { type IsNeutral, is, isEmpty, never } from './neutral-values.ts';

type Given = Readonly<Record<string, unknown>>;

const isOnlyText: IsNeutral = (value) => Array.isArray(value) && value.every((modality) => modality === 'text');

/** Members that change an answer elsewhere and not here, and the values that ask for nothing. */
const WITHOUT_EFFECT: Readonly<Record<string, IsNeutral>> = {
  audio: never,
  frequency_penalty: is(0),
  function_call: is('none', 'auto'),
  functions: isEmpty,
  logit_bias: isEmpty,
  logprobs: is(false),
  max_completion_tokens: never,
  max_tokens: never,
  modalities: isOnlyText,
  moderation: never,
  parallel_tool_calls: is(true),
  prediction: never,
  presence_penalty: is(0),
  response_format: (value) => isRecord(value) && value.type === 'text',
  seed: never,
  service_tier: is('auto', 'default'),
  stop: isEmpty,
  temperature: is(1),
  tool_choice: is('none', 'auto'),
  tools: isEmpty,
  top_logprobs: is(0),
  top_p: is(1),
  verbosity: is('medium'),
  web_search_options: never,
};

/** Names of the members that were given and have no effect here, in the order of the alphabet. */
export const ignoredIn = (body: Given): readonly string[] =>
  Object.entries(WITHOUT_EFFECT).flatMap(([name, isNeutral]) => {
    const value = body[name];
    return value === undefined || value === null || isNeutral(value) ? [] : [name];
  });
