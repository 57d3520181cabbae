import { isRecord } from '../core/record.ts';
import { type IsNeutral, is, isEmpty, never } from './neutral-values.ts';

type Given = Readonly<Record<string, unknown>>;

/** Members that change a response elsewhere and not here, and the values that ask for nothing. */
const WITHOUT_EFFECT: Readonly<Record<string, IsNeutral>> = {
  access_programs: isEmpty,
  context_management: isEmpty,
  image: isEmpty,
  include: isEmpty,
  max_output_tokens: never,
  max_tool_calls: never,
  moderation: isEmpty,
  parallel_tool_calls: is(true),
  service_tier: is('auto', 'default'),
  temperature: is(1),
  'text.format': (value) => isRecord(value) && value.type === 'text',
  'text.verbosity': is('medium'),
  tool_choice: is('none', 'auto'),
  tools: isEmpty,
  top_logprobs: is(0),
  top_p: is(1),
  truncation: is('disabled'),
};

const valueAt = (body: Given, path: string): unknown => {
  const [name = '', inner] = path.split('.');
  const value = body[name];
  if (inner === undefined) return value;
  return isRecord(value) ? value[inner] : undefined;
};

/** Names of the members that were given and have no effect here, in the order of the alphabet. */
export const ignoredInResponses = (body: Given): readonly string[] =>
  Object.entries(WITHOUT_EFFECT).flatMap(([path, isNeutral]) => {
    const value = valueAt(body, path);
    return value === undefined || value === null || isNeutral(value) ? [] : [path];
  });
