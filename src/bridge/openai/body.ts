import * as v from 'valibot';
import type { Fault } from '../../core/fault.ts';
import { issueOf } from '../../core/http/body.ts';
import { isNestedBeyond, isRecord, NESTING_LIMIT } from '../../core/json.ts';
import { badInput, invalidValue } from '../request.ts';

/** Joins two paths: `messages` and `[2].role` are `messages[2].role`. */
const joinPath = (at: string, path: string): string =>
  at === '' || path === '' || path.startsWith('[') ? `${at}${path}` : `${at}.${path}`;

const toBadInput = (issue: v.BaseIssue<unknown>, at: string): Fault => {
  const { path, expected } = issueOf(issue);
  const place = joinPath(at, path);
  const param = place === '' ? null : place;
  // The issue of an object for a missing member has the member's name in quotes.
  if (issue.type === 'object' && expected.startsWith('"'))
    return badInput('missing_required_parameter', param, `Missing required parameter: '${place}'`);
  // A variant has an issue of this form for a value that is no object.
  const isChoice = expected !== 'Object' && ['literal', 'picklist', 'variant'].includes(issue.type);
  return isChoice
    ? badInput('invalid_value', param, `Invalid value at '${place}': expected ${expected}`)
    : badInput('invalid_type', param, `Invalid type at '${place}': expected ${expected}`);
};

/** A schema's output. Faults with `bad-input`, whose `param` is the path; `at` is the path of the value in the body. */
export const parseMember = <Schema extends v.GenericSchema>(
  schema: Schema,
  value: unknown,
  at = '',
): v.InferOutput<Schema> => {
  const result = v.safeParse(schema, value, { abortEarly: true });
  if (result.success) return result.output;
  throw toBadInput(result.issues[0], at);
};

const ITEMS_LIMIT = 2000;
const PARTS_LIMIT = 1000;
/** Members of messages and items that hold lists. */
const LISTS: readonly string[] = ['content', 'output', 'tool_calls'];

const tooMany = (at: string, limit: number, what: string) => invalidValue(at, `there are more than ${limit} ${what}`);

/**
 * Refuses so many messages or items that parsing them would block other requests. One part in a message is as cheap as a text,
 * so only further parts are counted. `at` is the path of the list in the body; `lists` are the members that hold parts.
 */
export const refuseTooMany = (list: unknown, at: string, lists = LISTS): void => {
  if (!Array.isArray(list)) return;
  if (list.length > ITEMS_LIMIT) throw tooMany(at, ITEMS_LIMIT, 'of them');
  let parts = 0;
  for (const [index, item] of list.entries()) {
    for (const name of lists) {
      const held: unknown = isRecord(item) ? item[name] : undefined;
      parts += Array.isArray(held) ? Math.max(0, held.length - 1) : 0;
      if (parts > PARTS_LIMIT) throw tooMany(`${at}[${index}].${name}`, PARTS_LIMIT, 'parts in this request');
    }
  }
};

/** The body of a request. Faults with `bad-input` unless it is a JSON object of a depth that can be written again. */
export const parseBodyObject = (body: unknown): Readonly<Record<string, unknown>> => {
  if (!isRecord(body)) throw badInput('invalid_type', null, 'Expected a JSON object as the body');
  if (isNestedBeyond(body))
    throw badInput('invalid_value', null, `Expected a body with at most ${NESTING_LIMIT} levels of objects and lists`);
  return body;
};
