import * as v from 'valibot';
import { isRecord } from './json.ts';
import type { Log } from './log.ts';

/** Levenshtein distance, row by row: how many characters have to be put in, taken out or replaced. */
export const editDistance = (left: string, right: string): number => {
  let row = Array.from({ length: right.length + 1 }, (_, index) => index);
  for (const [i, char] of [...left].entries()) {
    const next = [i + 1];
    for (const [j, other] of [...right].entries()) {
      next.push(Math.min((next[j] ?? 0) + 1, (row[j + 1] ?? 0) + 1, (row[j] ?? 0) + (char === other ? 0 : 1)));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
};

/** The known name that a mistyped one was most likely meant to be: one that it begins, or else the fewest changes away. */
export const nearestName = (name: string, known: readonly string[]): string | undefined => {
  const begun = known.find((candidate) => name !== '' && candidate.startsWith(name));
  if (begun !== undefined) return begun;
  const candidates = known.map((candidate) => ({ candidate, distance: editDistance(name, candidate) }));
  // The first of the nearest. One distance for each name: a provider may have thousands of models.
  return candidates.reduce<(typeof candidates)[number] | undefined>(
    (nearest, next) => (nearest === undefined || next.distance < nearest.distance ? next : nearest),
    undefined,
  )?.candidate;
};

/** What is wrong with those members of an object whose names are not among the known ones. */
export const unknownNames = (value: unknown, known: readonly string[]): string[] =>
  Object.keys(isRecord(value) ? value : {})
    .filter((name) => !known.includes(name))
    .map((name) => `unknown name ${JSON.stringify(name)}, the nearest known one is "${nearestName(name, known)}"`);

/** What a process was given to configure it: names and texts. */
export type Variables = Readonly<Record<string, string | undefined>>;

/** Everything that is wrong with a configuration, a line each, naming the variable and never its value. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(problems.join('\n'));
    this.problems = problems;
  }
}

/** The text of a file; undefined when it cannot be read, after `onUnreadable` received the reason, as far as the system says. */
export type ReadFile = (path: string, onUnreadable?: (reason: string) => void) => string | undefined;

/** A file's text, or why it cannot be read. */
export const readOrReason = (
  readFile: ReadFile,
  path: string,
): { readonly text: string | undefined; readonly reason: string } => {
  let reason = '';
  const text = readFile(path, (why) => {
    reason = why;
  });
  return { text, reason };
};

/** What is wrong with a path whose file cannot be read. `reason`: the system's words; empty where there are none. */
export const unreadableFile = (reason: string): string =>
  `expected the path of a file that can be read${reason === '' ? '' : `: ${reason}`}`;

/** Stands in where a schema has no words of its own, because valibot's quote the value. */
export const expectedText = ({ received, expected, type }: v.BaseIssue<unknown>): string =>
  `expected ${received === 'undefined' ? 'a value' : (expected ?? type)}`;

/**
 * Reads variables through a schema. An empty text counts as not set, as compose files leave it. All problems at once.
 * `required` says what a variable holds that has no default.
 */
export const readVariables = <Schema extends v.GenericSchema>(
  schema: Schema,
  variables: Variables,
  required: Readonly<Record<string, string>> = {},
): v.InferOutput<Schema> => {
  const given = Object.fromEntries(
    Object.entries(variables).filter(([, text]) => text !== undefined && text.trim() !== ''),
  );
  const result = v.safeParse(schema, given, { message: expectedText });
  if (result.success) return result.output;
  const problems = result.issues.map((issue) => {
    const name = v.getDotPath(issue) ?? 'configuration';
    const content = issue.received === 'undefined' ? required[name] : undefined;
    return content === undefined ? `${name}: ${issue.message}` : `${name}: is required: ${content}`;
  });
  throw new ConfigError(problems);
};

const whole = (least: number, most: number): string => `expected a whole number from ${least} to ${most}`;

/** A variable that holds a whole number within bounds. */
export const WholeNumber = (least: number, most: number) =>
  v.pipe(
    v.string(),
    v.trim(),
    v.regex(/^\d{1,15}$/, whole(least, most)),
    v.transform(Number),
    v.minValue(least, whole(least, most)),
    v.maxValue(most, whole(least, most)),
  );

/** A variable that holds one of a few words. */
export const OneOf = <const Words extends readonly [string, ...string[]]>(words: Words) =>
  v.pipe(v.string(), v.trim(), v.picklist(words, `expected ${words.join(' | ')}`));

/** Whether a text is an http or https address that a path can be put behind: without user, query and fragment. */
export const isBaseUrl = (text: string): boolean => {
  if (!URL.canParse(text) || /[?#]/.test(text)) return false;
  const { protocol, username, password } = new URL(text);
  return /^https?:$/.test(protocol) && username === '' && password === '';
};

/** A base URL without slashes at its end, and without a `/v1` there, which people copy from the settings of clients. */
export const withoutVersionPath = (url: string): string => url.replace(/\/+$/, '').replace(/\/v1$/, '');

/** A variable that holds a comma-separated list; blanks around the items and empty items are dropped. */
export const CommaList = v.pipe(
  v.string(),
  v.transform((text) =>
    text
      .split(',')
      .map((item) => item.trim())
      .filter((item) => item !== ''),
  ),
);

/** Runs a reader and adds what its `ConfigError` holds to `problems`, so that one start reports them all. */
export const collectProblems = <T>(read: () => T, problems: string[]): T | undefined => {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    problems.push(...error.problems);
    return undefined;
  }
};

/** A slip of two letters in a shorter name makes it another one's. */
const SLIP_LIMIT = 2;
const SLIP_LEAST_CHARS = 8;

const isSlip = (name: string, known: readonly string[]): boolean => {
  const nearest = name.length < SLIP_LEAST_CHARS ? undefined : nearestName(name, known);
  return nearest !== undefined && editDistance(name, nearest) <= SLIP_LIMIT;
};

/** Whether all characters of a name are in a longer one, in their order, and at least half of it: `BRIDGE_KEY` of `BRIDGE_API_KEYS`. */
const isShortened = (name: string, long: string): boolean => {
  let found = 0;
  for (const char of long) if (char === name[found]) found += 1;
  return found === name.length && 2 * found >= long.length;
};

/** The known name that an unknown variable was meant to be, if one is near: a few changes away, or what it shortens. */
const meantName = (name: string, known: readonly string[]): string | undefined => {
  const nearest = nearestName(name, known);
  const limit = Math.max(SLIP_LIMIT, Math.floor(name.length / 5));
  if (nearest !== undefined && editDistance(name, nearest) <= limit) return nearest;
  return known.find((candidate) => isShortened(name, candidate));
};

/**
 * What Kubernetes sets in every pod for a service whose name may begin like one of ours: `AGENT_SERVICE_HOST`, `RELAY_PORT`,
 * `RELAY_PORT_8080_TCP_ADDR`.
 */
const KUBERNETES_NAME = /_SERVICE_(?:HOST|PORT(?:_\w+)?)$|_PORT(?:_\d\w*)?$/;

/** Variables without effect, each with the known name that it was likely meant to be; undefined where none is near. */
export type UnknownVariables = ReadonlyMap<string, string | undefined>;

/**
 * Variables that are named like a service's own, or nearly like one of them, and are none. Those that Kubernetes sets itself
 * are left out, and empty ones, which count as not set. `renamed`: what other programs call a variable of ours.
 */
export const unknownVariables = (
  variables: Variables,
  ours: RegExp,
  known: readonly string[],
  renamed: ReadonlyMap<string, string> = new Map(),
): UnknownVariables =>
  new Map(
    Object.entries(variables)
      .flatMap(([name, text]) => (text === undefined || text.trim() === '' ? [] : [name]))
      .filter((name) => !known.includes(name) && !KUBERNETES_NAME.test(name))
      .filter((name) => ours.test(name) || isSlip(name, known))
      .map((name) => [name, renamed.get(name) ?? meantName(name, known)]),
  );

const withoutEffect = ([name, meant]: readonly [string, string | undefined], kind = ''): string =>
  `${name}: ${kind}this variable has no effect${meant === undefined ? '' : `; did you mean ${meant}?`}`;

/** One line for each variable that has no effect, which is why a start is refused. */
export const unknownVariableErrors = (unknown: UnknownVariables): readonly string[] =>
  [...unknown].map((entry) => withoutEffect(entry));

/** One line for each variable that has no effect, which alone does not prevent the start. */
export const unknownVariableWarnings = (unknown: UnknownVariables): readonly string[] =>
  [...unknown].map((entry) => withoutEffect(entry, 'warning: '));

/**
 * Errors for variables that were likely meant to be one of `access`. A service that would start without access control is not
 * started with them.
 */
export const misspeltAccess = (unknown: UnknownVariables, access: readonly string[]): readonly string[] =>
  [...unknown].flatMap(([name, meant]) =>
    meant !== undefined && access.includes(meant)
      ? [
          `${name}: this variable has no effect, and without ${meant} everyone would have access: rename it to ${meant}, or remove it`,
        ]
      : [],
  );

/**
 * A `ConfigError` with warnings at its end about the variables that have no effect and are not in it: one of them may be what is
 * missing. Other errors as they are.
 */
export const withUnknownVariables = (error: unknown, unknown: UnknownVariables): unknown => {
  if (!(error instanceof ConfigError)) return error;
  const { problems } = error;
  const others = [...unknown].filter(([name]) => !problems.some((problem) => problem.startsWith(`${name}:`)));
  return new ConfigError([...problems, ...unknownVariableWarnings(new Map(others))]);
};

/** Logs a warning for each variable that has no effect, with the name that was likely meant. */
export const logUnknownVariables = (unknown: UnknownVariables, log: Log): void => {
  for (const [setting, meant] of unknown) {
    const reason = `it has no effect${meant === undefined ? '' : `; the nearest known one is ${meant}`}`;
    log('warn', 'unknown-setting', { setting, reason });
  }
};
