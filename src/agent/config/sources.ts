import { ConfigError, type Variables } from '../../core/config.ts';
import { isRecord } from '../../core/record.ts';
import { readJsonc } from './jsonc.ts';
import { type ConfigPath, type ConfigProblem, quoted } from './names.ts';
import { filledIn } from './substitute.ts';

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
