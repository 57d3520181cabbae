import { existsSync } from 'node:fs';
import { isAbsolute, resolve } from 'node:path';

/** How commands of a configuration are understood where they do not lead to a program as they are. */
export type Programs = {
  /** What stands for the first word of a command, before its arguments. */
  readonly words: ReadonlyMap<string, readonly string[]>;
  /** Where scripts are looked for that are not where the program runs: beside the configuration. */
  readonly directory: string | undefined;
};

/** `node` is the Node that runs this: another one of the path may be too old. */
export const USUAL_PROGRAMS: Programs = { words: new Map([['node', [process.execPath]]]), directory: undefined };

const isPath = (word: string): boolean => !isAbsolute(word) && /[\\/]|\.[cm]?[jt]s$/.test(word);

/** The place in a command of the file that is run: the script of Node, or else the program where that is a path. */
const placeOfFile = ([program, ...words]: readonly string[]): number =>
  program === 'node' ? 1 + words.findIndex((word) => !word.startsWith('-')) : 0;

/** A command as it can be started. What stands nowhere stays as it is, and the start of it will tell. */
export const startableCommand = (
  command: readonly string[],
  { words, directory }: Programs,
  cwd: string | undefined,
): readonly string[] => {
  const place = placeOfFile(command);
  const found = command.map((word, at) => {
    if (at !== place || directory === undefined || !isPath(word) || existsSync(resolve(cwd ?? '.', word))) return word;
    const beside = resolve(directory, word);
    return existsSync(beside) ? beside : word;
  });
  const [program = '', ...more] = found;
  return [...(words.get(program) ?? [program]), ...more];
};
