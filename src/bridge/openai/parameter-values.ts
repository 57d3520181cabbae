import { isRecord } from '../../core/json.ts';
import { badInput } from '../request.ts';

/** What values a parameter takes. `isOfType` fails for a value of another type, `isInRange` for one that is too small or too large. */
type ParameterValues = {
  readonly expected: string;
  readonly isOfType: (value: unknown) => boolean;
  readonly isInRange?: (value: unknown) => boolean;
};

const isBetween =
  (least: number, most: number) =>
  (value: unknown): boolean =>
    typeof value === 'number' && value >= least && value <= most;

/** A number within bounds. */
const numberFrom = (least: number, most: number): ParameterValues => ({
  expected: `a number from ${least} to ${most}`,
  isOfType: (value) => typeof value === 'number',
  isInRange: isBetween(least, most),
});

/** A whole number within bounds. */
export const wholeNumberFrom = (least: number, most = Number.POSITIVE_INFINITY): ParameterValues => ({
  expected:
    most === Number.POSITIVE_INFINITY ? `a whole number from ${least} on` : `a whole number from ${least} to ${most}`,
  isOfType: Number.isInteger,
  isInRange: isBetween(least, most),
});

export const A_BOOLEAN: ParameterValues = {
  expected: 'true or false',
  isOfType: (value) => typeof value === 'boolean',
};
export const A_TEXT: ParameterValues = { expected: 'a string', isOfType: (value) => typeof value === 'string' };
export const A_LIST: ParameterValues = { expected: 'an array', isOfType: Array.isArray };
export const AN_OBJECT: ParameterValues = { expected: 'an object', isOfType: isRecord };

/** How many there may be is left open: servers of other makers take more than OpenAI's four. */
const STOP: ParameterValues = {
  expected: 'a string or an array of strings',
  isOfType: (value) =>
    typeof value === 'string' || (Array.isArray(value) && value.every((text) => typeof text === 'string')),
};
const LOGIT_BIAS: ParameterValues = {
  expected: 'an object with a number from -100 to 100 for each token',
  isOfType: (value) => isRecord(value) && Object.values(value).every((bias) => typeof bias === 'number'),
  isInRange: (value) => isRecord(value) && Object.values(value).every(isBetween(-100, 100)),
};

/** Values by the parameters' names, as OpenAI documents them. */
export type ParameterTable = Readonly<Record<string, ParameterValues>>;

/** Of every endpoint that makes answers. */
export const SAMPLING_VALUES: ParameterTable = { temperature: numberFrom(0, 2), top_p: numberFrom(0, 1) };

/** Of chat completions and completions alike. */
export const COMPLETION_VALUES: ParameterTable = {
  ...SAMPLING_VALUES,
  frequency_penalty: numberFrom(-2, 2),
  logit_bias: LOGIT_BIAS,
  max_tokens: wholeNumberFrom(0),
  presence_penalty: numberFrom(-2, 2),
  seed: { expected: 'a whole number', isOfType: Number.isInteger },
  stop: STOP,
};

/**
 * Refuses a value that OpenAI would refuse, whether it has an effect here or not: `invalid_type` or `invalid_value` with the
 * parameter's name. `null` is the same as none.
 */
export const refuseOtherValues = (body: Readonly<Record<string, unknown>>, table: ParameterTable): void => {
  for (const [name, { expected, isOfType, isInRange = () => true }] of Object.entries(table)) {
    const value = body[name];
    if (value === undefined || value === null) continue;
    if (!isOfType(value)) throw badInput('invalid_type', name, `Invalid type at '${name}': expected ${expected}`);
    if (!isInRange(value)) throw badInput('invalid_value', name, `Invalid value at '${name}': expected ${expected}`);
  }
};
