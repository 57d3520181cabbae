import { ConfigError } from '../../core/config.ts';
import { isRecord, parseJsonValue } from '../../core/json.ts';

/** The setting that a policy comes from: errors begin with it. */
export type PolicySetting = 'MODERATION_POLICY' | 'MODERATION_POLICY_FILE';

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

/**
 * The first place at which a text is no JSON, or names a member of an object again, of which a parser would keep only the last;
 * undefined where there is none. The parsers of the runtimes do not always tell the one, and never the other.
 */
export const findJsonError = (text: string): JsonPlace | undefined => {
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
    const isNameAgain = next === 'colon' && isRepeated(token);
    if (next === undefined || isNameAgain) {
      const before = text.slice(0, offset).split('\n');
      const expected = EXPECTED[isNameAgain ? 'another name' : wanted];
      return { line: before.length, column: (before.at(-1)?.length ?? 0) + 1, expected };
    }
    wanted = next;
    offset += token.length;
  }
};

const objectRule = 'a JSON object with "version", and "categories" or "policies"';

/** The object in a policy's text. Throws a `ConfigError` that says where it is no JSON or repeats a name, and quotes nothing. */
export const parsePolicyJson = (whole: string, setting: PolicySetting): Readonly<Record<string, unknown>> => {
  // Some editors write a byte order mark first.
  const text = whole.replace(/^\uFEFF/, '');
  const value = parseJsonValue(text);
  const place = text.trim() === '' ? undefined : findJsonError(text);
  if (isRecord(value) && place === undefined) return value;
  const problem =
    place === undefined
      ? `expected ${objectRule}`
      : `expected ${place.expected} at line ${place.line}, column ${place.column}: it is ${objectRule}, without comments and trailing commas`;
  throw new ConfigError([`${setting}: ${problem}`]);
};
