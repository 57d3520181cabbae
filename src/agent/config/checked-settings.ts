import * as v from 'valibot';
import { ConfigError, expectation } from '../../core/config.ts';
import { type ConfigPath, type ConfigProblem, isWithin, pathText } from './names.ts';
import { ConfigFile, type ConfigSettings } from './schema.ts';
import { unfitNames } from './unfit-names.ts';
import { crossProblems } from './validate.ts';
import { idleSettings } from './warnings.ts';

const words = (issue: v.BaseIssue<unknown>): string => {
  if (issue.received !== 'undefined' && issue.expected === 'Object') return 'expected an object';
  if (issue.received !== 'undefined' && issue.expected === 'Array') return 'expected a list';
  return expectation(issue);
};

const isStep = (step: unknown): step is string | number => typeof step === 'string' || typeof step === 'number';
const pathOf = (issue: v.BaseIssue<unknown>): ConfigPath => (issue.path ?? []).map(({ key }) => key).filter(isStep);

const follows = ({ path }: ConfigProblem, earlier: readonly ConfigProblem[]): boolean =>
  earlier.some((other) => isWithin(path, other.path));

export type CheckedSettings = { readonly settings: ConfigSettings; readonly warnings: readonly string[] };

/**
 * A merged file as a type. Throws a `ConfigError` with every problem that it has, those known before among them; what
 * would only follow from one of them is left out. `told` puts the source's name before a path.
 */
export const checkedSettings = (
  file: unknown,
  known: readonly ConfigProblem[],
  told: (path: ConfigPath) => string,
): CheckedSettings => {
  const lineOf = ({ path, text }: ConfigProblem): string => `${told(path)}: ${pathText(path)}: ${text}`;
  const parsed = v.safeParse(ConfigFile, file, { message: words });
  const unfit = [...unfitNames(ConfigFile, file)];
  const unknown = unfit.filter(({ kind }) => kind === 'unknown-name');
  const first = [...known, ...unfit.filter(({ kind }) => kind === 'list')];
  const wrong = (parsed.issues ?? [])
    .map((issue) => ({ path: pathOf(issue), text: issue.message }))
    .filter((problem) => !follows(problem, first));
  const misfits = crossProblems(file).filter((problem) => !follows(problem, [...first, ...wrong]));
  const lines = [...first, ...unknown, ...wrong, ...misfits].map(lineOf);
  if (!parsed.success || lines.length > 0) throw new ConfigError([...new Set(lines)]);
  const inert = unfit.filter(({ kind }) => kind === 'inert');
  return { settings: parsed.output, warnings: [...inert, ...idleSettings(parsed.output)].map(lineOf) };
};
