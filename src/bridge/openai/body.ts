import * as v from 'valibot';
import type { Fault } from '../../core/fault.ts';
import { issueOf } from '../../core/http/body.ts';
import { isRecord } from '../../core/json.ts';
import { badInput } from '../request.ts';

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

const ITEMS_LIMIT = 2000;
const PARTS_LIMIT = 1000;
/** Members of messages and items that hold lists which are gone through one by one. */
const LISTS = ['content', 'output', 'tool_calls'];

const tooMany = (at: string, limit: number, what: string) =>
  badInput('invalid_value', at, `Invalid value at '${at}': there are more than ${limit} ${what}`);

/**
 * Refuses messages, or items, of which there are so many that reading them would keep everybody else waiting. One part in a
 * message is as good as a text, so only further ones are counted. `at` is the list's place in the body.
 */
export const refuseTooMany = (list: unknown, at: string): void => {
  if (!Array.isArray(list)) return;
  if (list.length > ITEMS_LIMIT) throw tooMany(at, ITEMS_LIMIT, 'of them');
  let parts = 0;
  for (const [index, item] of list.entries()) {
    for (const name of LISTS) {
      const held: unknown = isRecord(item) ? item[name] : undefined;
      parts += Array.isArray(held) ? Math.max(0, held.length - 1) : 0;
      if (parts > PARTS_LIMIT) throw tooMany(`${at}[${index}].${name}`, PARTS_LIMIT, 'parts in this request');
    }
  }
};

/** Whether a value asks for nothing, so that it need not be told that it has no effect. */
export type IsNeutral = (value: unknown) => boolean;

export const is =
  (...neutral: readonly unknown[]): IsNeutral =>
  (value) =>
    neutral.includes(value);
export const never: IsNeutral = () => false;
export const isEmpty: IsNeutral = (value) =>
  value === '' || (Array.isArray(value) && value.length === 0) || (isRecord(value) && Object.keys(value).length === 0);
