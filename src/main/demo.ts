import { newId } from '../adapter/web/crypto.ts';
import { type DemoCommand, demoCommands } from '../demo/commands.ts';
import { DEMO_HELP, type DemoAddresses, demoBanner } from '../demo/help.ts';
import { checkCommands, missingPrograms } from './demo/check.ts';
import { openaiDirectory } from './demo/openai-package.ts';
import { ANY_PORTS, portsBeside } from './demo/port.ts';
import { ServiceEnded } from './demo/process.ts';
import { type DemoWorld, withDemoServices } from './demo/services.ts';
import { leavingSignals } from './demo/signals.ts';

const commandsFor = (facts: DemoAddresses): readonly DemoCommand[] =>
  demoCommands({ ...facts, node: process.execPath, openaiDirectory: openaiDirectory() });

const shown = async ({ facts, trouble }: DemoWorld, leaving: AbortSignal): Promise<number> => {
  process.stdout.write(demoBanner(facts, commandsFor(facts)));
  const left = new Promise<number>((settle) => {
    if (leaving.aborted) settle(0);
    leaving.addEventListener('abort', () => settle(0), { once: true });
  });
  return Promise.race([left, trouble]);
};

const checked = async ({ facts, relayCredits, trouble }: DemoWorld, leaving: AbortSignal): Promise<number> => {
  const over = new AbortController();
  trouble.catch(() => over.abort());
  const signal = AbortSignal.any([leaving, over.signal]);
  return Promise.race([checkCommands({ commands: commandsFor(facts), relayCredits, leaving: signal }), trouble]);
};

const follow = async (isCheck: boolean): Promise<number> => {
  const missing = isCheck ? missingPrograms() : [];
  if (missing.length > 0) {
    process.stderr.write(`gatehouse demo: --check needs ${missing.join(' and ')}, not found here\n`);
    return 1;
  }
  const { env } = process;
  const needs = {
    ...leavingSignals(),
    variables: env,
    key: env.MODERATION_API_KEY || `demo-${newId().slice(0, 12)}`,
    ports: isCheck ? ANY_PORTS : portsBeside(env.PORT),
  };
  try {
    const code = await withDemoServices(needs, (world) => (isCheck ? checked : shown)(world, needs.leaving));
    // A check that was broken off has shown nothing.
    return isCheck && needs.leaving.aborted ? 1 : code;
  } catch (error) {
    if (!(error instanceof ServiceEnded)) throw error;
    process.stderr.write(`gatehouse demo: ended, because ${error.message} did\n`);
    return 1;
  }
};

/**
 * Starts all services on loopback, with toys for what would be behind them, and tells what to try once all of them
 * answer; with `--check` it tries that itself. A service that does not start has said why itself.
 */
export const runDemo = async (words: readonly string[]): Promise<void> => {
  const isCheck = words.length === 1 && words[0] === '--check';
  if (words.length > 0 && !isCheck) {
    process.stdout.write(DEMO_HELP);
    process.exitCode = words.every((word) => word === '--help' || word === '-h') ? 0 : 1;
    return;
  }
  process.exit(await follow(isCheck));
};
