import * as v from 'valibot';
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

/**
 * What Kubernetes sets in every pod for a service whose name may begin like one of ours: `AGENT_SERVICE_HOST`, `RELAY_PORT`,
 * `RELAY_PORT_8080_TCP_ADDR`.
 */
const KUBERNETES_NAME = /_SERVICE_(?:HOST|PORT(?:_\w+)?)$|_PORT(?:_\d\w*)?$/;

/**
 * Variables that are named like a service's own, or nearly like one of them, and are none, each with the nearest known name.
 * Those that Kubernetes sets itself are left out, and empty ones, which count as not set.
 */
export const unknownVariables = (
  variables: Variables,
  ours: RegExp,
  known: readonly string[],
): ReadonlyMap<string, string> =>
  new Map(
    Object.entries(variables)
      .flatMap(([name, text]) => (text === undefined || text.trim() === '' ? [] : [name]))
      .filter((name) => !known.includes(name) && !KUBERNETES_NAME.test(name))
      .filter((name) => ours.test(name) || isSlip(name, known))
      .map((name) => [name, nearestName(name, known) ?? '']),
  );

/** One line of a `ConfigError` for each variable that has no effect, with the nearest known name. */
export const unknownVariableErrors = (unknown: ReadonlyMap<string, string>): readonly string[] =>
  [...unknown].map(([name, nearest]) => `${name}: this variable has no effect; did you mean ${nearest}?`);

/** A `ConfigError` with the variables that have no effect at its end: one of them may be what is missing. Other errors as they are. */
export const withUnknownVariables = (error: unknown, unknown: ReadonlyMap<string, string>): unknown =>
  error instanceof ConfigError ? new ConfigError([...error.problems, ...unknownVariableErrors(unknown)]) : error;

/** Logs a warning for each variable that has no effect, with the nearest known name. */
export const logUnknownVariables = (unknown: ReadonlyMap<string, string>, log: Log): void => {
  for (const [setting, nearest] of unknown)
    log('warn', 'unknown-setting', { setting, reason: `it has no effect; the nearest known one is ${nearest}` });
};
