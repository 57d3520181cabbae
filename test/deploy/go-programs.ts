import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

const textOf = (program: string, words: readonly string[]): string =>
  spawnSync(program, words, { encoding: 'utf8' }).stdout ?? '';

/** Where `go install` puts programs, which need not be on the path. */
const directories = (): readonly string[] => {
  const [own = '', path = ''] = textOf('go', ['env', 'GOBIN', 'GOPATH']).split('\n');
  return [own, path === '' ? '' : join(path, 'bin')].filter((directory) => directory !== '');
};

/** A program that Go has built, if it says a version that matches to `words`. */
export const goProgram = (name: string, words: readonly string[], version: RegExp): string | undefined =>
  [name, ...directories().map((directory) => join(directory, name))].find((program) =>
    version.test(textOf(program, words)),
  );
