import { isRecord } from '../../core/json.ts';
import { invalidValue, wrongType } from '../request.ts';
import { areAllFunctions } from './client-tools.ts';

type Test = (value: unknown) => boolean;

/**
 * A parameter and its values, as OpenAI documents them. `isOfType` fails for a value of another type, `isInRange` for one that is too
 * small or too large. `isNeutral`: of a parameter without an effect here, whether a value makes no difference, so that it is not reported.
 */
type Parameter = {
  readonly expected: string;
  readonly isOfType: Test;
  readonly isInRange?: Test;
  readonly isNeutral?: Test;
};

/** The parameters of an endpoint by their paths, but for those that a schema checks and that have their effect. */
export type ParameterTable = Readonly<Record<string, Parameter>>;

const isBetween =
  (least: number, most: number): Test =>
  (value) =>
    typeof value === 'number' && value >= least && value <= most;

/** A number within bounds. */
const numberFrom = (least: number, most: number): Parameter => ({
  expected: `a number from ${least} to ${most}`,
  isOfType: (value) => typeof value === 'number',
  isInRange: isBetween(least, most),
});

/** A whole number within bounds. */
const wholeNumberFrom = (least: number, most = Number.POSITIVE_INFINITY): Parameter => ({
  expected:
    most === Number.POSITIVE_INFINITY ? `a whole number from ${least} on` : `a whole number from ${least} to ${most}`,
  isOfType: Number.isInteger,
  isInRange: isBetween(least, most),
});

const A_BOOLEAN: Parameter = {
  expected: 'true or false',
  isOfType: (value) => typeof value === 'boolean',
};
const A_TEXT: Parameter = { expected: 'a string', isOfType: (value) => typeof value === 'string' };
const A_LIST: Parameter = { expected: 'an array', isOfType: Array.isArray };
const AN_OBJECT: Parameter = { expected: 'an object', isOfType: isRecord };

/** How many there may be is left open: servers of other makers take more than OpenAI's four. */
const STOP: Parameter = {
  expected: 'a string or an array of strings',
  isOfType: (value) =>
    typeof value === 'string' || (Array.isArray(value) && value.every((text) => typeof text === 'string')),
};
const LOGIT_BIAS: Parameter = {
  expected: 'an object with a number from -100 to 100 for each token',
  isOfType: (value) => isRecord(value) && Object.values(value).every((bias) => typeof bias === 'number'),
  isInRange: (value) => isRecord(value) && Object.values(value).every(isBetween(-100, 100)),
};

/** Checked elsewhere, or taken whatever it is. */
const ANYTHING: Parameter = { expected: 'anything', isOfType: () => true };

/** A parameter without an effect, but for some values that change nothing at OpenAI either. */
const ignored = (values: Parameter, ...neutral: readonly unknown[]): Parameter => ({
  ...values,
  isNeutral: (value) => neutral.includes(value),
});
const isEmpty: Test = (value) =>
  value === '' || (Array.isArray(value) && value.length === 0) || (isRecord(value) && Object.keys(value).length === 0);
const ignoredUnlessEmpty = (values: Parameter): Parameter => ({ ...values, isNeutral: isEmpty });
const isOnlyText: Test = (value) => Array.isArray(value) && value.every((modality) => modality === 'text');

const SAMPLING: ParameterTable = { temperature: ignored(numberFrom(0, 2), 1), top_p: ignored(numberFrom(0, 1), 1) };

const TEXT_COMPLETION: ParameterTable = {
  ...SAMPLING,
  frequency_penalty: ignored(numberFrom(-2, 2), 0),
  logit_bias: ignoredUnlessEmpty(LOGIT_BIAS),
  max_tokens: ignored(wholeNumberFrom(0)),
  presence_penalty: ignored(numberFrom(-2, 2), 0),
  seed: ignored({ expected: 'a whole number', isOfType: Number.isInteger }),
  stop: ignoredUnlessEmpty(STOP),
};

/** Of chat completions and responses alike. */
const NEWER: ParameterTable = {
  ...SAMPLING,
  parallel_tool_calls: A_BOOLEAN,
  service_tier: ignored(A_TEXT, 'auto', 'default'),
  tools: { ...ANYTHING, isNeutral: areAllFunctions },
  top_logprobs: ignored(wholeNumberFrom(0, 20), 0),
};

/** Of `POST /v1/chat/completions`. */
export const CHAT_PARAMETERS: ParameterTable = {
  ...TEXT_COMPLETION,
  ...NEWER,
  audio: ignored(AN_OBJECT),
  functions: ignoredUnlessEmpty(A_LIST),
  logprobs: ignored(A_BOOLEAN, false),
  max_completion_tokens: ignored(wholeNumberFrom(0)),
  modalities: { ...A_LIST, isNeutral: isOnlyText },
  moderation: ignored(ANYTHING),
  prediction: ignored(AN_OBJECT),
  verbosity: ignored(A_TEXT, 'medium'),
  web_search_options: ignored(AN_OBJECT),
};

/** Of `POST /v1/completions`. */
export const COMPLETION_PARAMETERS: ParameterTable = {
  ...TEXT_COMPLETION,
  best_of: ignored(wholeNumberFrom(0, 20), 1),
  logprobs: ignored(wholeNumberFrom(0, 5)),
};

/** Of `POST /v1/responses`. */
export const RESPONSE_PARAMETERS: ParameterTable = {
  ...NEWER,
  access_programs: ignoredUnlessEmpty(ANYTHING),
  context_management: ignoredUnlessEmpty(ANYTHING),
  image: ignoredUnlessEmpty(ANYTHING),
  include: ignoredUnlessEmpty(A_LIST),
  max_output_tokens: ignored(wholeNumberFrom(0)),
  max_tool_calls: ignored(wholeNumberFrom(0)),
  moderation: ignoredUnlessEmpty(ANYTHING),
  'reasoning.context': ignored(ANYTHING, 'auto'),
  'reasoning.mode': ignored(ANYTHING, 'standard'),
  text: AN_OBJECT,
  'text.verbosity': ignored(ANYTHING, 'medium'),
  truncation: ignored(A_TEXT, 'disabled'),
};

type Body = Readonly<Record<string, unknown>>;

/** The value at a path of one or two names. */
export const valueAt = (body: Body, path: string): unknown => {
  const [name = '', inner] = path.split('.');
  const value = body[name];
  if (inner === undefined) return value;
  return isRecord(value) ? value[inner] : undefined;
};

/**
 * Refuses a value that OpenAI would refuse, whether it has an effect here or not: `invalid_type` or `invalid_value` with the
 * parameter's name. `null` is the same as none.
 */
export const refuseOtherValues = (body: Body, table: ParameterTable): void => {
  for (const [path, { expected, isOfType, isInRange = () => true }] of Object.entries(table)) {
    const value = valueAt(body, path);
    if (value === undefined || value === null) continue;
    if (!isOfType(value)) throw wrongType(path, expected);
    if (!isInRange(value)) throw invalidValue(path, `expected ${expected}`);
  }
};

/** The paths of the parameters that were sent and have no effect here, in alphabetical order. */
export const ignoredParameters = (body: Body, table: ParameterTable): readonly string[] =>
  Object.entries(table)
    .flatMap(([path, { isNeutral }]) => {
      const value = valueAt(body, path);
      return value === undefined || value === null || (isNeutral?.(value) ?? true) ? [] : [path];
    })
    .sort();
