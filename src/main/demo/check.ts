import { spawn, spawnSync } from 'node:child_process';
import type { DemoCommand } from '../../demo/command-line.ts';
import { RECHARGE } from '../../demo/commands.ts';
import type { Credit } from '../../demo/relay/world.ts';

const LINE_LIMIT_MS = 30_000;

/** The programs that the commands need and this machine does not have. */
export const missingPrograms = (): readonly string[] => {
  if (spawnSync('sh', ['-c', ':']).error !== undefined) return ['sh'];
  return ['curl', 'sed'].filter((name) => spawnSync('sh', ['-c', `command -v ${name}`]).status !== 0);
};

/** Runs a command as if pasted into a new shell and returns its output. No process stays behind. */
const runLine = (line: string, stopping: AbortSignal): Promise<string> =>
  new Promise((settle) => {
    const limit = AbortSignal.any([stopping, AbortSignal.timeout(LINE_LIMIT_MS)]);
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

type CheckNeeds = {
  readonly commands: readonly DemoCommand[];
  readonly relayCredits: readonly Credit[];
  /** Aborts when the check is to stop. */
  readonly stopping: AbortSignal;
};

const printResult = (isAsExpected: boolean, what: string, seen: string): boolean => {
  process.stdout.write(`${isAsExpected ? 'OK     ' : 'differs'}  ${what}\n         ${seen}\n`);
  return isAsExpected;
};

/** Runs the commands one after the other and prints for each whether it did what it promises. Returns exit code 0 when all did. */
export const checkCommands = async ({ commands, relayCredits, stopping }: CheckNeeds): Promise<number> => {
  let areAllAsExpected = true;
  for (const { title, line, checkOutput, missing } of commands) {
    if (missing !== undefined) {
      process.stdout.write(`not tried  ${title}\n         ${missing}\n`);
      continue;
    }
    const { isAsExpected, summary } = checkOutput(await runLine(line, stopping));
    if (stopping.aborted) return 1;
    areAllAsExpected = printResult(isAsExpected, title, summary) && areAllAsExpected;
  }
  const credits = relayCredits.map(({ amount }) => amount);
  const isCredited = credits.length === 1 && Number(credits[0]) === Number(RECHARGE.amount);
  areAllAsExpected =
    printResult(isCredited, 'What reached the demo relay', `credits it has made: ${credits.join(', ') || 'none'}`) &&
    areAllAsExpected;
  return areAllAsExpected ? 0 : 1;
};
