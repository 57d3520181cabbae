import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import * as v from 'valibot';

export const ROOT = resolve(import.meta.dirname, '../..');

/** The text of a file of the tree. */
export const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8');

/** Each word once, in order. */
export const unique = (words: readonly string[]): string[] => [...new Set(words)].sort();

/** The default of a variable, `none` where there is nothing, and `required` where a start without it fails. */
export const defaultOf = (schema: v.GenericSchema): string =>
  schema.type === 'optional' ? String(v.getDefault(schema) || 'none') : 'required';

/** Every variable with its default: `NAME=default`. */
export const defaultsOf = (variables: Readonly<Record<string, v.GenericSchema>>): string[] =>
  Object.entries(variables).map(([name, schema]) => `${name}=${defaultOf(schema)}`);

/** The rows of every table of a page whose first cell is a variable, as `NAME=default`. */
export const tableOfVariables = (page: string): string[] =>
  [...page.matchAll(/^\| `([A-Z][A-Z0-9_]+)` \| (?:`([^`]*)`|(none|required)) \|/gm)].map(
    ([, name, value, word]) => `${name}=${value ?? word}`,
  );

/** The texts of all sources of a room. */
export const sourcesOf = (room: string): string[] =>
  readdirSync(join(ROOT, room), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => read(`${room}/${name}`));

/** The pages about decisions. */
export const decisions = (): string[] =>
  readdirSync(join(ROOT, 'docs/decisions'))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/decisions/${name}`);

/** GitHub's own way from a heading to its anchor. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .trim()
    .replaceAll(' ', '-');
const anchorsIn = (text: string): string[] =>
  [...text.matchAll(/^#{1,6} (.+)$/gm)].map(([, heading = '']) => anchorOf(heading));

/** Relative links that lead to nothing: no such file, or no such heading in it. */
export const brokenLinksIn = (file: string): string[] =>
  [...read(file).matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, target = '']) => target)
    .filter((target) => !/^[a-z]+:/.test(target))
    .filter((target) => {
      const [path = '', anchor] = target.split('#');
      const found = path === '' ? file : join(dirname(file), path);
      if (!existsSync(join(ROOT, found))) return true;
      return anchor !== undefined && !anchorsIn(read(found)).includes(anchor);
    });
