import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';

/** One import as it is written: the name after `from`, and whether it only brings types. */
export type Import = { readonly name: string; readonly isType: boolean };
/** Every source file with what it imports. Paths begin with `src/`. */
export type Sources = ReadonlyMap<string, readonly Import[]>;

const IMPORT = /^(?:import|export)\s+(type\s)?[^'"`;]*?from\s+'([^']+)'|\bimport\('([^']+)'\)|^import\s+'([^']+)'/gm;

/** The text of a file without its comments. */
export const withoutComments = (text: string): string => text.replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '');

/** What a text imports, statically or when it runs. */
export const importsIn = (text: string): Import[] =>
  [...withoutComments(text).matchAll(IMPORT)].map(([, type, named, dynamic, bare]) => ({
    name: named ?? dynamic ?? bare ?? '',
    isType: type !== undefined,
  }));

/** Reads all TypeScript files below a folder of the repository. */
export const readSources = (root: string, folder: string): Sources =>
  new Map(
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => /\.tsx?$/.test(name))
      .map((name) => join(folder, name))
      .sort()
      .map((file) => [file, importsIn(readFileSync(join(root, file), 'utf8'))]),
  );

/** The file that a relative import of `file` leads to, or nothing for a package. */
export const targetOf = (file: string, { name }: Import): string | undefined =>
  name.startsWith('.') ? normalize(join(dirname(file), name)) : undefined;

/** The service of a file (`src/agent/turn/step.ts` is of `agent`). */
export const serviceOf = (file: string): string => file.split('/')[1] ?? '';

/** The folder of a service that a file lies in, or the file's own name at the top of it. */
const partOf = (file: string): string => (file.split('/')[2] ?? '').replace(/\.tsx?$/, '');

/** Groups of files that import each other in a circle, types included. Tarjan's algorithm. */
export const circlesIn = (sources: Sources): readonly (readonly string[])[] => {
  const circles: string[][] = [];
  const order = new Map<string, number>();
  const lowest = new Map<string, number>();
  const open: string[] = [];
  const visit = (file: string): void => {
    order.set(file, order.size);
    lowest.set(file, order.get(file) ?? 0);
    open.push(file);
    for (const one of sources.get(file) ?? []) {
      const target = targetOf(file, one);
      if (target === undefined || !sources.has(target)) continue;
      if (!order.has(target)) visit(target);
      if (open.includes(target))
        lowest.set(file, Math.min(lowest.get(file) ?? 0, lowest.get(target) ?? 0, order.get(target) ?? 0));
    }
    if (lowest.get(file) !== order.get(file)) return;
    const circle = open.splice(open.indexOf(file));
    if (circle.length > 1) circles.push(circle.sort());
  };
  for (const file of sources.keys()) if (!order.has(file)) visit(file);
  return circles;
};

/** Imports inside a service that lead from a part to one above it. `parts` names all parts, the lowest first. */
export const upwardImports = (sources: Sources, service: string, parts: readonly string[]): readonly string[] =>
  [...sources].flatMap(([file, imports]) =>
    imports.flatMap((one) => {
      const target = targetOf(file, one);
      if (target === undefined || serviceOf(file) !== service || serviceOf(target) !== service) return [];
      const [from, to] = [parts.indexOf(partOf(file)), parts.indexOf(partOf(target))];
      if (from === -1) return [`${file} is in no part that has a place in the order`];
      return to > from ? [`${file} imports ${target}, which is above it`] : [];
    }),
  );
