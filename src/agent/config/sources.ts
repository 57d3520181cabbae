import { ConfigError, type Variables } from '../../core/config.ts';
import { isRecord } from '../../core/json.ts';
import { readJsonc } from './jsonc.ts';
import { type ConfigPath, type ConfigProblem, quoted } from './names.ts';

/** Where the texts come from that stand in for `{env:NAME}` and `{file:path}`. */
export type Substitutes = {
  readonly variables: Variables;
  /** A file's text by its path as it is written, or nothing when it cannot be read. */
  readonly readFile: (path: string) => string | undefined;
};

const REFERENCE = /\{(env|file):([^{}]*)\}/g;

/** Whether a text as it is written takes something from outside. What comes of it may be a secret, and stays unshown. */
export const hasReference = (text: string): boolean => text.search(REFERENCE) >= 0;

const contentOf = (text: string | undefined): string | undefined => text?.trim() || undefined;

/** A value with every text filled in. Names are left as they are, and what was filled in is not searched again. */
export const filledIn = (
  whole: unknown,
  { variables, readFile }: Substitutes,
): { readonly value: unknown; readonly problems: readonly ConfigProblem[] } => {
  const problems: ConfigProblem[] = [];
  const missing = (path: ConfigPath, text: string): string => {
    problems.push({ path, text });
    return '';
  };
  const fill = (text: string, path: ConfigPath): string =>
    text.replace(REFERENCE, (_, kind: string, given: string) => {
      const name = given.trim();
      if (kind === 'env') {
        const found = Object.hasOwn(variables, name) ? contentOf(variables[name]) : undefined;
        return found ?? missing(path, `expected a value in the variable ${quoted(name)}`);
      }
      return contentOf(readFile(name)) ?? missing(path, `expected something to read in the file ${quoted(name)}`);
    });
  const filled = (value: unknown, path: ConfigPath): unknown => {
    if (typeof value === 'string') return fill(value, path);
    if (Array.isArray(value)) return value.map((item, index) => filled(item, [...path, index]));
    if (!isRecord(value)) return value;
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, filled(inner, [...path, name])]));
  };
  return { value: filled(whole, []), problems };
};

/** One of the texts that make the configuration: what stands there, and what it becomes with every text filled in. */
export type ConfigSource = {
  /** The file or the variable, as problems name it. */
  readonly name: string;
  readonly written: unknown;
  readonly filled: unknown;
  readonly problems: readonly ConfigProblem[];
};

/** Gives a file's text, or nothing when there is none to read. Paths are relative to where the process runs. */
export type ReadFile = (path: string) => string | undefined;

type Given = { readonly name: string; readonly text: string; readonly directory: string };

/** The file that is read when `AGENT_CONFIG` names none. */
export const DEFAULT_FILE = './agent.json';
const INLINE = 'AGENT_CONFIG_CONTENT';
const THREE_WAYS =
  'AGENT_CONFIG: expected a configuration: write ./agent.json (agent.example.json shows how), name another file in AGENT_CONFIG, or put the JSON itself into AGENT_CONFIG_CONTENT';

const given = (text: string | undefined): string | undefined => text?.trim() || undefined;
const directoryOf = (path: string): string =>
  path.slice(0, Math.max(path.lastIndexOf('/'), path.lastIndexOf('\\')) + 1);

/** The texts in the order in which they count, the last one most. */
const givenTexts = (variables: Variables, readFile: ReadFile): readonly Given[] => {
  const path = given(variables.AGENT_CONFIG);
  const content = given(variables.AGENT_CONFIG_CONTENT);
  const text = readFile(path ?? DEFAULT_FILE);
  if (text === undefined && path !== undefined) {
    throw new ConfigError([`AGENT_CONFIG: expected the path of a file that can be read, and ${quoted(path)} is none`]);
  }
  if (text === undefined && content === undefined) throw new ConfigError([THREE_WAYS]);
  const file = path ?? DEFAULT_FILE;
  return [
    ...(text === undefined ? [] : [{ name: file.replace(/^\.\//, ''), text, directory: directoryOf(file) }]),
    ...(content === undefined ? [] : [{ name: INLINE, text: content, directory: '' }]),
  ];
};

/** A path that a file gives, as seen from where the process runs. */
const placed = (path: string, directory: string, home: string | undefined): string => {
  if (path.startsWith('~/') && home !== undefined) return `${home}${path.slice(1)}`;
  return /^(?:[\\/]|[A-Za-z]:[\\/])/.test(path) ? path : `${directory}${path}`;
};

/** Paths of `instructions` are relative to their own file, which is forgotten as soon as two sources are merged. */
const withInstructions = (value: unknown, place: (path: string) => string): unknown => {
  if (!isRecord(value) || !Array.isArray(value.instructions)) return value;
  const paths: readonly unknown[] = value.instructions;
  return { ...value, instructions: paths.map((path) => (typeof path === 'string' ? place(path) : path)) };
};

/** Reads the texts that there are. Throws a `ConfigError` when there is none, or one that is no JSON object. */
export const configSources = (variables: Variables, readFile: ReadFile): readonly ConfigSource[] => {
  const unreadable: string[] = [];
  const sources = givenTexts(variables, readFile).flatMap(({ name, text, directory }): ConfigSource[] => {
    const outcome = readJsonc(text);
    if (outcome.kind === 'unreadable') {
      unreadable.push(`${name}:${outcome.line}:${outcome.column}: ${outcome.expected}`);
      return [];
    }
    if (!isRecord(outcome.value)) {
      unreadable.push(`${name}: top level: expected an object`);
      return [];
    }
    const place = (path: string): string => placed(path, directory, given(variables.HOME));
    const { value, problems } = filledIn(outcome.value, { variables, readFile: (path) => readFile(place(path)) });
    return [{ name, written: outcome.value, filled: withInstructions(value, place), problems }];
  });
  if (unreadable.length > 0) throw new ConfigError(unreadable);
  return sources;
};

const depthOf = (value: unknown, path: ConfigPath): number => {
  let at = value;
  for (const [depth, step] of path.entries()) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, step)) return depth;
    at = Reflect.get(at, step);
  }
  return path.length;
};

/** The source that has the most of a path, and of several the one that counts most: there it has to be mended. */
export const sourceOf = (path: ConfigPath, sources: readonly ConfigSource[]): string => {
  const depths = sources.map(({ written }) => depthOf(written, path));
  return sources[depths.lastIndexOf(Math.max(...depths))]?.name ?? '';
};

/** A later source over an earlier one, name by name. Lists are replaced, but for `instructions`, which are joined. */
export const mergedOver = (base: unknown, over: unknown, name?: string): unknown => {
  if (Array.isArray(base) && Array.isArray(over) && name === 'instructions') return [...new Set([...base, ...over])];
  if (!isRecord(over)) return over;
  // One action for all is the rule that narrower ones refine: it must not vanish behind the first of them.
  const under = name === 'permission' && typeof base === 'string' ? { '*': base } : base;
  if (!isRecord(under)) return over;
  const isPermission = name === 'permission';
  return {
    ...under,
    ...Object.fromEntries(
      Object.entries(over).map(([key, value]) => [
        key,
        Object.hasOwn(under, key) ? mergedOver(under[key], value, isPermission ? 'permission' : key) : value,
      ]),
    ),
  };
};
