/** Whether the arguments of a program ask for its help text. */
export const wantsHelp = (args: readonly string[]): boolean => args.some((arg) => arg === '--help' || arg === '-h');

type Program = { readonly name: string; readonly help: string; readonly main: () => Promise<void> };

/** Runs a program that has no arguments but `--help`. Another argument is refused, without repeating it, with exit code 1. */
export const runWithoutArguments = async (args: readonly string[], { name, help, main }: Program): Promise<void> => {
  if (args.length === 0) return main();
  if (wantsHelp(args)) process.stdout.write(help);
  else {
    process.stderr.write(`gatehouse ${name}: expected no arguments, only environment variables; see --help\n`);
    process.exitCode = 1;
  }
};
