import type { Variables } from '../../core/config.ts';
import { isRecord } from '../../core/record.ts';
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
