import { ConfigError, type ReadFile, readOrReason, type Variables } from '../../core/config.ts';
import { isRecord } from '../../core/json.ts';
import { parseJsonc } from './jsonc.ts';
import { type ConfigIssue, type ConfigPath, quoteName } from './names.ts';

/** The sources of the texts that replace `{env:NAME}` and `{file:path}`. */
type ReferenceSources = {
  readonly variables: Variables;
  /** Takes paths as they are written. */
  readonly readFile: ReadFile;
};

const REFERENCE = /\{(env|file):([^{}]*)\}/g;

/** Whether a text has a reference to a variable or a file. Its value may be a secret, and is never shown. */
export const hasReference = (text: string): boolean => text.search(REFERENCE) >= 0;

const nonEmpty = (text: string | undefined): string | undefined => text?.trim() || undefined;

/** What follows an error that may have a reason. */
const withColon = (reason: string): string => (reason === '' ? '' : `: ${reason}`);

/** Replaces the references in all texts of a value, but not in names. Replacements are not searched for references. */
const resolveReferences = (
  whole: unknown,
  { variables, readFile }: ReferenceSources,
): { readonly value: unknown; readonly issues: readonly ConfigIssue[] } => {
  const issues: ConfigIssue[] = [];
  const addMissing = (path: ConfigPath, text: string): string => {
    issues.push({ path, text });
    return '';
  };
  const fill = (text: string, path: ConfigPath): string =>
    text.replace(REFERENCE, (_, kind: string, reference: string) => {
      const name = reference.trim();
      if (kind === 'env') {
        const found = Object.hasOwn(variables, name) ? nonEmpty(variables[name]) : undefined;
        return found ?? addMissing(path, `expected a value: the variable ${quoteName(name)} is not set`);
      }
      const { text, reason } = readOrReason(readFile, name);
      const expected = `expected something to read in the file ${quoteName(name)}`;
      return nonEmpty(text) ?? addMissing(path, `${expected}${withColon(reason)}`);
    });
  const fillValue = (value: unknown, path: ConfigPath): unknown => {
    if (typeof value === 'string') return fill(value, path);
    if (Array.isArray(value)) return value.map((item, index) => fillValue(item, [...path, index]));
    if (!isRecord(value)) return value;
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, fillValue(inner, [...path, name])]));
  };
  return { value: fillValue(whole, []), issues };
};

/** One of the texts of the configuration, as it is written and with its references replaced. */
export type ConfigSource = {
  /** The file or the variable, as errors name it. */
  readonly name: string;
  readonly written: unknown;
  readonly resolved: unknown;
  readonly issues: readonly ConfigIssue[];
};

type SourceText = { readonly name: string; readonly text: string; readonly directory: string };

/** The file that is read when `AGENT_CONFIG` names none. */
export const DEFAULT_FILE = './agent.json';
const INLINE_VARIABLE = 'AGENT_CONFIG_CONTENT';
const NO_CONFIGURATION =
  'AGENT_CONFIG: expected a configuration: write ./agent.json (agent.example.json shows how), name another file in AGENT_CONFIG, or put the JSON itself into AGENT_CONFIG_CONTENT';

const parentDirectory = (path: string): string =>
  path.slice(0, Math.max(path.lastIndexOf('/'), path.lastIndexOf('\\')) + 1);

/** The configured texts. Later ones override earlier ones. */
const readSourceTexts = (variables: Variables, readFile: ReadFile): readonly SourceText[] => {
  const path = nonEmpty(variables.AGENT_CONFIG);
  const content = nonEmpty(variables.AGENT_CONFIG_CONTENT);
  const file = path ?? DEFAULT_FILE;
  const { text, reason } = readOrReason(readFile, file);
  // Without a name, a file that is not there is none. One that is there was meant, unless the variable holds everything.
  const isThere = reason !== '' && !reason.includes('ENOENT');
  const isMeant = path !== undefined || (content === undefined && isThere);
  if (text === undefined && isMeant)
    throw new ConfigError([
      `AGENT_CONFIG: expected the path of a file that can be read; cannot read ${quoteName(file)}${withColon(reason)}`,
    ]);
  if (text === undefined && content === undefined) throw new ConfigError([NO_CONFIGURATION]);
  return [
    ...(text === undefined ? [] : [{ name: file.replace(/^\.\//, ''), text, directory: parentDirectory(file) }]),
    ...(content === undefined ? [] : [{ name: INLINE_VARIABLE, text: content, directory: '' }]),
  ];
};

/** A path in a file of `directory`, relative to the working directory. `~/` is the home directory. */
const resolvePath = (path: string, directory: string, home: string | undefined): string => {
  if (path.startsWith('~/') && home !== undefined) return `${home}${path.slice(1)}`;
  return /^(?:[\\/]|[A-Za-z]:[\\/])/.test(path) ? path : `${directory}${path}`;
};

/** Resolves the paths of `instructions`, which are relative to their own file. Done before sources are merged. */
const resolveInstructions = (value: unknown, resolve: (path: string) => string): unknown => {
  if (!isRecord(value) || !Array.isArray(value.instructions)) return value;
  const paths: readonly unknown[] = value.instructions;
  return { ...value, instructions: paths.map((path) => (typeof path === 'string' ? resolve(path) : path)) };
};

/** Reads all sources. Throws a `ConfigError` when there is none, and for each that is no JSON object. */
export const readConfigSources = (variables: Variables, readFile: ReadFile): readonly ConfigSource[] => {
  const unreadable: string[] = [];
  const sources = readSourceTexts(variables, readFile).flatMap(({ name, text, directory }): ConfigSource[] => {
    const outcome = parseJsonc(text);
    if (outcome.kind === 'unreadable') {
      unreadable.push(`${name}:${outcome.line}:${outcome.column}: ${outcome.expected}`);
      return [];
    }
    if (!isRecord(outcome.value)) {
      unreadable.push(`${name}: top level: expected an object`);
      return [];
    }
    const resolve = (path: string): string => resolvePath(path, directory, nonEmpty(variables.HOME));
    const { value, issues } = resolveReferences(outcome.value, {
      variables,
      readFile: (path, onUnreadable) => readFile(resolve(path), onUnreadable),
    });
    return [{ name, written: outcome.value, resolved: resolveInstructions(value, resolve), issues }];
  });
  if (unreadable.length > 0) throw new ConfigError(unreadable);
  return sources;
};

const matchingDepth = (value: unknown, path: ConfigPath): number => {
  let at = value;
  for (const [depth, step] of path.entries()) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, step)) return depth;
    at = Reflect.get(at, step);
  }
  return path.length;
};

/** The name of the source that has most of a path. Of several it is the last one, whose value is used. */
export const findSource = (path: ConfigPath, sources: readonly ConfigSource[]): string => {
  const depths = sources.map(({ written }) => matchingDepth(written, path));
  return sources[depths.lastIndexOf(Math.max(...depths))]?.name ?? '';
};

/** Merges a later source over an earlier one, name by name. Lists are replaced, except `instructions`, which are joined. */
export const mergeConfig = (base: unknown, over: unknown, name?: string): unknown => {
  if (Array.isArray(base) && Array.isArray(over) && name === 'instructions') return [...new Set([...base, ...over])];
  if (!isRecord(over)) return over;
  // A single action for all tools becomes the rule `*`, so that narrower rules refine it instead of replacing it.
  const under = name === 'permission' && typeof base === 'string' ? { '*': base } : base;
  if (!isRecord(under)) return over;
  const isPermission = name === 'permission';
  return {
    ...under,
    ...Object.fromEntries(
      Object.entries(over).map(([key, value]) => [
        key,
        Object.hasOwn(under, key) ? mergeConfig(under[key], value, isPermission ? 'permission' : key) : value,
      ]),
    ),
  };
};
