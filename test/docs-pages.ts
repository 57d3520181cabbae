import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import * as v from 'valibot';

export const ROOT = resolve(import.meta.dirname, '..');

/** The text of a file of the tree. */
export const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8');

/** Each word once, in order. */
export const unique = (words: readonly string[]): string[] => [...new Set(words)].sort();

/** Every variable with its default, `none` where there is nothing: `NAME=default`. */
export const defaultsOf = (variables: Readonly<Record<string, v.GenericSchema>>): string[] =>
  Object.entries(variables).map(([name, schema]) => `${name}=${v.getDefault(schema) || 'none'}`);

/** The rows of every table of a page whose first cell is a variable, as `NAME=default`. */
export const tableOfVariables = (page: string): string[] =>
  [...page.matchAll(/^\| `([A-Z][A-Z0-9_]+)` \| (?:`([^`]*)`|(none)) \|/gm)].map(
    ([, name, value, none]) => `${name}=${value ?? none}`,
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
