import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { ROOT, run, type Variables } from '../runtime/processes.ts';

type Outcome = { readonly code: number | null; readonly stdout: string; readonly stderr: string };

/** A copy of the tree that may be built and changed, with the packages of the real one. */
type Tree = {
  readonly directory: string;
  readonly read: (file: string) => string;
  readonly write: (file: string, text: string) => void;
  readonly node: (words: readonly string[], variables?: Variables) => Promise<Outcome>;
  readonly build: () => Promise<Outcome>;
  /** A package as the bundler finds it in `folder`. */
  readonly addPackage: (folder: string, name: string, given: Readonly<Record<string, string>>) => void;
};

const COPIED = ['src', 'supply', 'build.mjs', 'package.json', 'package-lock.json', 'agent.example.json'];

/** Runs the body with such a copy, which is gone afterwards. */
export const withTree = async (body: (tree: Tree) => Promise<void>): Promise<void> => {
  const directory = mkdtempSync(join(tmpdir(), 'gatehouse-supply-'));
  const write = (file: string, text: string): void => {
    mkdirSync(dirname(join(directory, file)), { recursive: true });
    writeFileSync(join(directory, file), text);
  };
  const node = (words: readonly string[], variables: Variables = {}) =>
    run(process.execPath, words, { directory, variables });
  try {
    for (const name of COPIED) cpSync(join(ROOT, name), join(directory, name), { recursive: true });
    symlinkSync(join(ROOT, 'node_modules'), join(directory, 'node_modules'));
    await body({
      directory,
      read: (file) => readFileSync(join(directory, file), 'utf8'),
      write,
      node,
      build: () => node(['build.mjs']),
      addPackage(folder, name, { text, ...manifest }) {
        const place = `${folder}/node_modules/${name}`;
        write(`${place}/package.json`, JSON.stringify({ name, main: 'index.js', ...manifest }));
        write(`${place}/index.js`, `console.log(${JSON.stringify(name)});`);
        if (text !== undefined) write(`${place}/LICENSE`, text);
      },
    });
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
};

/** What the list's rows say: `name version` to licence and bundles. */
export const rowsOf = (list: string): ReadonlyMap<string, string> =>
  new Map(
    [...(list.split('\n====')[0] ?? '').matchAll(/^(\S+ \d\S*) \| (.+)$/gm)].map(([, name = '', rest = '']) => [
      name,
      rest,
    ]),
  );
