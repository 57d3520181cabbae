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

/** Where a text stops being JSON, and what would have to stand there. Line and column count from 1. */
type JsonPlace = { readonly line: number; readonly column: number; readonly expected: string };

const BLANKS = /[ \t\r\n]*/y;
// biome-ignore lint/suspicious/noControlCharactersInRegex: JSON allows none of them in a text
const STRING = /"(?:[^"\\\0-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y;
const LITERAL = /(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)(?![\w.+-])/y;

const EXPECTED = {
  value: 'a value',
  'first item': 'a value or a closing bracket',
  'first name': 'a name in double quotes or a closing brace',
  'another name': 'a name that its object does not have yet',
  name: 'a name in double quotes',
  colon: 'a colon',
  'comma in object': 'a comma or a closing brace',
  'comma in list': 'a comma or a closing bracket',
  end: 'nothing more',
} as const;
type Wanted = keyof typeof EXPECTED;

/** What stands at an offset: a mark of one character, a text, or another value. Empty where it is none of them. */
const tokenAt = (text: string, offset: number): string => {
  for (const pattern of [STRING, LITERAL]) {
    pattern.lastIndex = offset;
    const [token = ''] = pattern.exec(text) ?? [];
    if (token !== '') return token;
  }
  return '{}[],:'.includes(text.charAt(offset)) ? text.charAt(offset) : '';
};

/** What a token leads to; undefined where it cannot stand. `open` holds the objects and lists around it. */
const nextWanted = (token: string, wanted: Wanted, open: string[]): Wanted | undefined => {
  const afterValue = (): Wanted => {
    const around = open.at(-1);
    if (around === undefined) return 'end';
    return around === '{' ? 'comma in object' : 'comma in list';
  };
  const isEmptyOrDone = (mark: string): boolean =>
    mark === '}'
      ? wanted === 'first name' || wanted === 'comma in object'
      : wanted === 'first item' || wanted === 'comma in list';
  if (token === '') return undefined;
  if (token === '}' || token === ']') {
    if (!isEmptyOrDone(token)) return undefined;
    open.pop();
    return afterValue();
  }
  if (token === ':') return wanted === 'colon' ? 'value' : undefined;
  if (token === ',') {
    if (wanted === 'comma in object') return 'name';
    return wanted === 'comma in list' ? 'value' : undefined;
  }
  if (wanted === 'name' || wanted === 'first name') return token.startsWith('"') ? 'colon' : undefined;
  if (wanted !== 'value' && wanted !== 'first item') return undefined;
  if (token !== '{' && token !== '[') return afterValue();
  open.push(token);
  return token === '{' ? 'first name' : 'first item';
};

/** `repeats`: an object may name a member again, which is JSON. */
type JsonRules = { readonly repeats: boolean };
const NO_REPEATS: JsonRules = { repeats: false };

/**
 * The first place at which a text is no JSON, or names a member of an object again, of which a parser would keep only the last;
 * undefined where there is none. The parsers of the runtimes do not always tell the one, and never the other.
 */
export const findJsonError = (text: string, { repeats }: JsonRules = NO_REPEATS): JsonPlace | undefined => {
  const open: string[] = [];
  /** The names so far, of each of the objects around. */
  const names: Set<string>[] = [];
  const isRepeated = (token: string): boolean => {
    const name = parseJsonValue(token);
    const ofObject = names[open.length - 1] ?? new Set();
    if (typeof name !== 'string' || ofObject.has(name)) return true;
    ofObject.add(name);
    return false;
  };
  let wanted: Wanted = 'value';
  for (let offset = 0; ; ) {
    BLANKS.lastIndex = offset;
    offset += BLANKS.exec(text)?.[0].length ?? 0;
    if (wanted === 'end' && offset === text.length) return undefined;
    const token = tokenAt(text, offset);
    const next = nextWanted(token, wanted, open);
    if (next === 'first name') names[open.length - 1] = new Set();
    const isNameAgain = !repeats && next === 'colon' && isRepeated(token);
    if (next === undefined || isNameAgain) {
      const before = text.slice(0, offset).split('\n');
      const expected = EXPECTED[isNameAgain ? 'another name' : wanted];
      return { line: before.length, column: (before.at(-1)?.length ?? 0) + 1, expected };
    }
    wanted = next;
    offset += token.length;
  }
};

/** Where a text stops being JSON, as the end of an error; empty where it does not. */
export const jsonErrorText = (text: string, rules?: JsonRules): string => {
  const place = findJsonError(text, rules);
  return place === undefined ? '' : `; at line ${place.line}, column ${place.column} it needs ${place.expected}`;
};

/** The value of a model's text, which may be in a code block; undefined where it is no JSON, or has too many levels to be written. */
export const parseModelJson = (text: string): unknown => {
  const trimmed = text.trim();
  const value = parseJsonValue(/^```(?:json)?\s*\n(.*)```$/s.exec(trimmed)?.[1] ?? trimmed);
  return isNestedBeyond(value) ? undefined : value;
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

/** The JSON of a value that came out of JSON, with the names of each object in order: equal values have equal texts (RFC 8785). */
export const canonicalJson = (value: unknown): string => {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (!isRecord(value)) return JSON.stringify(value) ?? 'null';
  const names = Object.keys(value).filter((name) => value[name] !== undefined);
  return `{${names
    .sort()
    .map((name) => `${JSON.stringify(name)}:${canonicalJson(value[name])}`)
    .join(',')}}`;
};

const PIECE_CHARS = 16_384;

/** What `JSON.stringify` writes of a value that came out of JSON or is as plain, in pieces that each take little time. */
export function* jsonPieces(value: unknown): Generator<string, void> {
  let held = '';
  function* flush(): Generator<string, void> {
    if (held.length < PIECE_CHARS) return;
    yield held;
    held = '';
  }
  function* write(part: unknown): Generator<string, void> {
    if (typeof part === 'string') {
      held += '"';
      for (const piece of cutText(part, PIECE_CHARS)) {
        held += JSON.stringify(piece).slice(1, -1);
        yield* flush();
      }
      held += '"';
    } else if (Array.isArray(part)) {
      let before = '[';
      for (const item of part) {
        held += before;
        yield* write(item);
        before = ',';
      }
      held += before === '[' ? '[]' : ']';
    } else if (isRecord(part)) {
      let before = '{';
      for (const name of Object.keys(part)) {
        if (part[name] === undefined) continue;
        held += before;
        yield* write(name);
        held += ':';
        yield* write(part[name]);
        before = ',';
      }
      held += before === '{' ? '{}' : '}';
    } else held += JSON.stringify(part) ?? 'null';
    yield* flush();
  }
  yield* write(value);
  yield held;
}

/** The same as one text. */
export function* writeJson(value: unknown): Steps<string> {
  const pieces: string[] = [];
  for (const piece of jsonPieces(value)) {
    if (pieces.length > 0) yield;
    pieces.push(piece);
  }
  const [whole = ''] = pieces;
  return pieces.length === 1 ? whole : pieces.join('');
}

/** Checks a value: undefined when it fits its schema, otherwise what is wrong and where, in one line for each of a few places. */
export type SchemaCheck = (value: unknown) => string | undefined;

/** Makes the check of a JSON Schema. Both throw a `SchemaError` where the schema cannot be used. */
export type CompileSchema = (schema: Readonly<Record<string, unknown>>) => SchemaCheck;

/** The longest JSON Schema of an answer: it is stored with its prompt, and sent to the model in each step. */
export const SCHEMA_LIMIT_BYTES = 64 * 1024;

export const isSchemaTooLong = (schema: Readonly<Record<string, unknown>>): boolean =>
  new TextEncoder().encode(JSON.stringify(schema)).length > SCHEMA_LIMIT_BYTES;

/** Why a JSON Schema cannot be used, in one line. */
export class SchemaError extends Error {
  override readonly name = 'SchemaError';
}
