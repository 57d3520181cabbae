import { existsSync } from 'node:fs';
import { isAbsolute, resolve } from 'node:path';
import type { Variables } from '../../../core/config.ts';

/** How the commands of tool servers are resolved to programs and files. */
export type CommandLookup = {
  /** Replacements for the program of a command, its first word. */
  readonly replacements: ReadonlyMap<string, readonly string[]>;
  /** What a program, the first word of a command, gets of this process's variables beside those that its configuration names. */
  readonly inherited: (program: string, named: Variables) => Variables;
  /** Where files are looked up that do not exist in the working directory: the directory of the configuration. */
  readonly directory: string | undefined;
};

/** `node` is the Node that runs this program: the one in the PATH may be too old. */
export const DEFAULT_COMMAND_LOOKUP: CommandLookup = {
  replacements: new Map([['node', [process.execPath]]]),
  inherited: () => ({}),
  directory: undefined,
};

const isPath = (word: string): boolean => !isAbsolute(word) && /[\\/]|\.[cm]?[jt]s$/.test(word);

/** The index of the file that a command runs: Node's script, else the program. */
const fileIndex = ([program, ...words]: readonly string[]): number =>
  program === 'node' ? 1 + words.findIndex((word) => !word.startsWith('-')) : 0;

/** The command to start. A file that is found nowhere stays as it is, so that starting it reports the error. */
export const resolveCommand = (
  command: readonly string[],
  { replacements, directory }: Pick<CommandLookup, 'replacements' | 'directory'>,
  cwd: string | undefined,
): readonly string[] => {
  const index = fileIndex(command);
  const resolved = command.map((word, at) => {
    if (at !== index || directory === undefined || !isPath(word) || existsSync(resolve(cwd ?? '.', word))) return word;
    const beside = resolve(directory, word);
    return existsSync(beside) ? beside : word;
  });
  const [program = '', ...args] = resolved;
  return [...(replacements.get(program) ?? [program]), ...args];
};
