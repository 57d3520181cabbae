import { newId } from '../adapter/web-crypto.ts';
import type { DemoCommand } from '../demo/command-line.ts';
import { demoCommands } from '../demo/commands.ts';
import { DEMO_HELP, type DemoAddresses, demoBanner } from '../demo/help.ts';
import { checkCommands, missingPrograms } from './demo/check.ts';
import { openaiDirectory } from './demo/openai-package.ts';
import { ANY_PORTS, portsBeside } from './demo/port.ts';
import { ServiceEnded } from './demo/process.ts';
import { type RunningDemo, withDemoServices } from './demo/services.ts';
import { createStopSignals } from './demo/signals.ts';
import { wantsHelp } from './program/arguments.ts';

const commandsFor = (facts: DemoAddresses): readonly DemoCommand[] =>
  demoCommands({ ...facts, node: process.execPath, openaiDirectory: openaiDirectory() });

const showDemo = async ({ facts, failure }: RunningDemo, stopping: AbortSignal): Promise<number> => {
  process.stdout.write(demoBanner(facts, commandsFor(facts), openaiDirectory()));
  const stopped = new Promise<number>((settle) => {
    if (stopping.aborted) settle(0);
    stopping.addEventListener('abort', () => settle(0), { once: true });
  });
  return Promise.race([stopped, failure]);
};

const checkDemo = async ({ facts, relayCredits, failure }: RunningDemo, stopping: AbortSignal): Promise<number> => {
  const over = new AbortController();
  failure.catch(() => over.abort());
  const signal = AbortSignal.any([stopping, over.signal]);
  return Promise.race([checkCommands({ commands: commandsFor(facts), relayCredits, stopping: signal }), failure]);
};

const startDemo = async (isCheck: boolean): Promise<number> => {
  const missing = isCheck ? missingPrograms() : [];
  if (missing.length > 0) {
    process.stderr.write(`gatehouse demo: --check needs ${missing.join(' and ')}, not found here\n`);
    return 1;
  }
  const { env } = process;
  const needs = {
    // What runs has a few seconds to end: a run that waits for an approval takes them.
    ...createStopSignals(() => {
      if (!isCheck) process.stdout.write('\nstopping… (again ends it at once)\n');
    }),
    variables: env,
    key: env.MODERATION_API_KEY || `demo-${newId().slice(0, 12)}`,
    ports: isCheck ? ANY_PORTS : portsBeside(env.PORT),
  };
  try {
    const code = await withDemoServices(needs, (demo) => (isCheck ? checkDemo : showDemo)(demo, needs.stopping));
    // A check that was interrupted has proved nothing.
    return isCheck && needs.stopping.aborted ? 1 : code;
  } catch (error) {
    if (!(error instanceof ServiceEnded)) throw error;
    process.stderr.write(`gatehouse demo: ended, because ${error.message}\n`);
    return 1;
  }
};

/** An option is named without its value, and nothing else is: it may be a key. */
const argumentProblem = (args: readonly string[]): string => {
  const [wrong = ''] = args.filter((arg) => arg !== '--check');
  if (wrong === '') return 'expected --check only once';
  const [option] = /^--?[a-z][a-z-]{0,30}(?==|$)/.exec(wrong) ?? [];
  return option === undefined ? 'expected --check or no arguments' : `unknown option ${option}, expected --check`;
};

/**
 * Starts all services on loopback, with demo versions of the judge, the model and the relay, and prints what to try once
 * all of them answer. With `--check` it runs these commands itself. A service that does not start prints the reason itself.
 */
export const runDemo = async (args: readonly string[]): Promise<void> => {
  const isCheck = args.length === 1 && args[0] === '--check';
  if (wantsHelp(args)) {
    process.stdout.write(DEMO_HELP);
    return;
  }
  if (args.length > 0 && !isCheck) {
    process.stderr.write(`gatehouse demo: ${argumentProblem(args)}; see gatehouse demo --help\n`);
    process.exitCode = 1;
    return;
  }
  process.exit(await startDemo(isCheck));
};
