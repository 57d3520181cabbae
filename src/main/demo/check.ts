import { spawn, spawnSync } from 'node:child_process';
import { type DemoCommand, RECHARGE } from '../../demo/commands.ts';
import type { Credit } from '../../demo/relay/world.ts';

const LINE_LIMIT_MS = 30_000;

/** What the lines need and this machine has not. */
export const missingPrograms = (): readonly string[] => {
  if (spawnSync('sh', ['-c', ':']).error !== undefined) return ['sh'];
  return ['curl', 'sed'].filter((name) => spawnSync('sh', ['-c', `command -v ${name}`]).status !== 0);
};

/** Does what a line says, as pasted into a new shell, and answers with what it printed. Nothing of it is left over. */
const outputOf = (line: string, leaving: AbortSignal): Promise<string> =>
  new Promise((settle) => {
    const limit = AbortSignal.any([leaving, AbortSignal.timeout(LINE_LIMIT_MS)]);
    // A group of its own, so that what the shell has started can be ended with it.
    const shell = spawn('sh', ['-c', line], { stdio: ['ignore', 'pipe', 'pipe'], detached: true });
    const end = (): void => {
      try {
        if (shell.pid !== undefined) process.kill(-shell.pid, 'SIGKILL');
      } catch {
        // It has just ended by itself.
      }
    };
    let output = '';
    for (const stream of [shell.stdout, shell.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        output += text;
      });
    }
    limit.addEventListener('abort', end, { once: true });
    shell.once('close', () => {
      limit.removeEventListener('abort', end);
      settle(output);
    });
  });

export type CheckNeeds = {
  readonly commands: readonly DemoCommand[];
  readonly relayCredits: readonly Credit[];
  /** Aborts when nobody waits for the outcome any more. */
  readonly leaving: AbortSignal;
};

const told = (isAsPromised: boolean, what: string, seen: string): boolean => {
  process.stdout.write(`${isAsPromised ? 'OK     ' : 'differs'}  ${what}\n         ${seen}\n`);
  return isAsPromised;
};

/** Runs the lines one after the other and tells of each whether it kept its promise. The exit code is 0 when all did. */
export const checkCommands = async ({ commands, relayCredits, leaving }: CheckNeeds): Promise<number> => {
  let areAllKept = true;
  for (const { title, line, checkOutput: sightOf, missing } of commands) {
    if (missing !== undefined) {
      process.stdout.write(`not tried  ${title}\n         ${missing}\n`);
      continue;
    }
    const { isAsExpected: isAsPromised, summary: words } = sightOf(await outputOf(line, leaving));
    if (leaving.aborted) return 1;
    areAllKept = told(isAsPromised, title, words) && areAllKept;
  }
  const credits = relayCredits.map(({ amount }) => amount);
  const isCredited = credits.length === 1 && Number(credits[0]) === Number(RECHARGE.amount);
  areAllKept = told(isCredited, 'The toy relay', `credits it has made: ${credits.join(', ') || 'none'}`) && areAllKept;
  return areAllKept ? 0 : 1;
};
