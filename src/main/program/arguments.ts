import { nearName } from '../../core/identifier.ts';

/** Whether the arguments of a program ask for its help text. */
export const wantsHelp = (args: readonly string[]): boolean => args.some((arg) => arg === '--help' || arg === '-h');

/** A variable by its name, with a number as its value: any other value may be a key. */
const assignment = (name: string, value: string): string => `${name}=${/^\d{1,9}$/.test(value) ? value : '...'}`;

/** The variables that a help text lists, and one that every service has. */
const variablesIn = (help: string): readonly string[] => [
  'LOG_LEVEL',
  ...[...help.matchAll(/^ {2}([A-Z][A-Z_, ]+[A-Z]) {2,}/gm)].flatMap(([, names = '']) => names.split(', ')),
];

/** What sets the same as an option: `PORT=9000` for `--port 9000` or `--port=9000`; empty where no variable is near. */
const variableFor = ([first = '', second = '']: readonly string[], help: string): string => {
  const [option = '', value = second] = first.split('=', 2);
  const name = nearName(option.replace(/^-+/, '').replaceAll('-', '_').toUpperCase(), variablesIn(help));
  return name === undefined ? '' : `: ${assignment(name, value)}`;
};

/** The end of an error about a word: `; the nearest is gateway`, empty where none is near. The word is not repeated. */
export const nearestText = (word: string, known: readonly string[]): string => {
  const nearest = nearName(word, known);
  return nearest === undefined ? '' : `; the nearest is ${nearest}`;
};

type Program = { readonly name: string; readonly help: string; readonly main: () => Promise<void> };

/**
 * Runs a program that has no arguments but `--help`. Another argument is refused, without repeating it, with exit code 1; if it is near
 * to a variable's name, the error says how to set that.
 */
export const runWithoutArguments = async (args: readonly string[], { name, help, main }: Program): Promise<void> => {
  if (args.length === 0) return main();
  if (wantsHelp(args)) process.stdout.write(help);
  else {
    const variable = variableFor(args, help);
    process.stderr.write(
      `gatehouse ${name}: expected no arguments, only environment variables${variable}; see --help\n`,
    );
    process.exitCode = 1;
  }
};
