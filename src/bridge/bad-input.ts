import * as v from 'valibot';
import { Fault } from '../core/fault.ts';
import { issueOf } from '../core/http/body.ts';

/** A refusal of what a client sent, with OpenAI's codes. The message must never quote what came. */
export const badInput = (code: string, param: string | null, message: string): Fault =>
  new Fault({ kind: 'bad-input', code, param, message });

/** A place within a place: `messages` and `[2].role` make `messages[2].role`. */
const within = (at: string, path: string): string =>
  at === '' || path === '' || path.startsWith('[') ? `${at}${path}` : `${at}.${path}`;

const refusalOf = (issue: v.BaseIssue<unknown>, at: string): Fault => {
  const { path, expected } = issueOf(issue);
  const place = within(at, path);
  const param = place === '' ? null : place;
  // An object complains of a member that is missing by the member's name in quotes.
  if (issue.type === 'object' && expected.startsWith('"'))
    return badInput('missing_required_parameter', param, `Missing required parameter: '${place}'`);
  // A choice among objects complains of what is no object at all like this.
  const isChoice = expected !== 'Object' && ['literal', 'picklist', 'variant'].includes(issue.type);
  return isChoice
    ? badInput('invalid_value', param, `Invalid value at '${place}': expected ${expected}`)
    : badInput('invalid_type', param, `Invalid type at '${place}': expected ${expected}`);
};

/** A schema's value, or a `bad-input` fault that names the place: `at` is where in the body the value was. */
export const readAs = <Schema extends v.GenericSchema>(
  schema: Schema,
  value: unknown,
  at = '',
): v.InferOutput<Schema> => {
  const result = v.safeParse(schema, value, { abortEarly: true });
  if (result.success) return result.output;
  throw refusalOf(result.issues[0], at);
};
