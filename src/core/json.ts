import * as v from 'valibot';
import { cutText } from './text.ts';
import type { Steps } from './time-slices.ts';

/** Whether a value is an object with names, as JSON's `{}` is: no null and no array. */
export const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** How many levels of objects and lists a request may have. Code that reads or writes them is recursive. */
export const NESTING_LIMIT = 64;

/** Whether a value has more than so many levels of objects and lists. It looks no deeper than that. */
export const isNestedBeyond = (value: unknown, levels = NESTING_LIMIT): boolean => {
  if (typeof value !== 'object' || value === null) return false;
  const parts: readonly unknown[] = Array.isArray(value) ? value : Object.values(value);
  return levels === 0 || parts.some((part) => isNestedBeyond(part, levels - 1));
};

/** The value of a text that may be no JSON; undefined then, which no JSON is. */
export const parseJsonValue = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

/** The text of another system through a schema; undefined when it is no JSON or does not fit. */
export const parseJson = <Schema extends v.GenericSchema>(
  schema: Schema,
  text: string,
): v.InferOutput<Schema> | undefined => {
  const value = parseJsonValue(text);
  if (value === undefined) return undefined;
  const result = v.safeParse(schema, value);
  return result.success ? result.output : undefined;
};

/**
 * Writes a value as JSON and remembers the last one: the policy and its schema are kilobytes that stay the same from
 * call to call, and writing them out again would cost more than all the rest of a call.
 */
export const createJsonMemo = <T>(): ((value: T) => string) => {
  let last: { readonly value: T; readonly text: string } | undefined;
  return (value) => {
    if (last === undefined || last.value !== value) last = { value, text: JSON.stringify(value) };
    return last.text;
  };
};

/** What is smaller is written at once. */
const WRITTEN_AT_ONCE_CHARS = 16_384;

/** What is left of a number of characters without those that a value takes; negative as soon as they are too few. */
const charsLeft = (value: unknown, chars: number): number => {
  if (typeof value === 'string') return chars - value.length;
  if (typeof value !== 'object' || value === null) return chars - 1;
  const names = Array.isArray(value) ? [] : Object.keys(value);
  const members: readonly unknown[] = Array.isArray(value) ? value : Object.values(value);
  let left = chars - 1;
  for (let index = 0; index < members.length && left >= 0; index++)
    left = charsLeft(members[index], left - (names[index]?.length ?? 0));
  return left;
};

function* jsonTextPieces(text: string): Generator<string, void> {
  yield '"';
  for (const piece of cutText(text)) yield JSON.stringify(piece).slice(1, -1);
  yield '"';
}

/** What `JSON.stringify` writes of a value that came out of JSON or is as plain, in pieces that each take little time. */
export function* jsonPieces(value: unknown): Generator<string, void> {
  if (charsLeft(value, WRITTEN_AT_ONCE_CHARS) >= 0) yield JSON.stringify(value) ?? 'null';
  else if (typeof value === 'string') yield* jsonTextPieces(value);
  else if (Array.isArray(value)) {
    let before = '[';
    for (const item of value) {
      yield before;
      yield* jsonPieces(item);
      before = ',';
    }
    yield ']';
  } else if (isRecord(value)) {
    let before = '{';
    for (const [name, member] of Object.entries(value)) {
      if (member === undefined) continue;
      yield before;
      yield* jsonTextPieces(name);
      yield ':';
      yield* jsonPieces(member);
      before = ',';
    }
    yield before === '{' ? '{}' : '}';
  }
}

/** The same as one text. */
export function* writeJson(value: unknown): Steps<string> {
  const pieces: string[] = [];
  for (const piece of jsonPieces(value)) {
    pieces.push(piece);
    yield;
  }
  const [whole = ''] = pieces;
  return pieces.length === 1 ? whole : pieces.join('');
}
