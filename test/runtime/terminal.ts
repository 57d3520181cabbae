import { execFile, execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { Variables } from './processes.ts';

/** A program in a terminal of a fixed size, behind which somebody looks at the screen and types. */
export type Terminal = {
  readonly screen: () => Promise<string>;
  /** Waits until the screen shows this, and gives what it then shows. */
  readonly showing: (what: RegExp) => Promise<string>;
  readonly type: (text: string) => Promise<void>;
  /** Keys by the names that tmux has for them. */
  readonly press: (...keys: readonly string[]) => Promise<void>;
  /** Ends the program and the terminal. */
  readonly end: () => Promise<void>;
};

type TerminalNeeds = {
  readonly command: readonly string[];
  readonly directory: string;
  readonly variables: Variables;
};

const COLUMNS = 120;
const ROWS = 40;
/** Patience for a machine that has much else to do; nobody waits so long where all is well. */
const LIMIT_MS = 90_000;
const LOOK_EVERY_MS = 100;
const COMMAND_LIMIT_MS = 30_000;

export const missingTmux = ((): string | undefined => {
  try {
    execFileSync('tmux', ['-V'], { stdio: 'ignore' });
    return undefined;
  } catch {
    return 'tmux';
  }
})();

/** Opens a terminal of its own server, so that nobody else's is touched. */
export const openTerminal = async ({ command, directory, variables }: TerminalNeeds): Promise<Terminal> => {
  const socket = ['-L', `terminal-${randomUUID()}`, '-f', '/dev/null'];
  const env = {
    PATH: process.env.PATH,
    TMUX_TMPDIR: directory,
    LC_ALL: 'C.UTF-8',
    TERM: 'xterm-256color',
    ...variables,
  };
  const tmux = async (...words: readonly string[]): Promise<string> =>
    (await promisify(execFile)('tmux', [...socket, ...words], { cwd: directory, env, timeout: COMMAND_LIMIT_MS }))
      .stdout;
  // Its server is nobody's child: what breaks the tests off must not leave it behind.
  const endHard = (): void => {
    try {
      execFileSync('tmux', [...socket, 'kill-server'], { env, stdio: 'ignore' });
    } catch {
      // It is gone.
    }
  };
  process.once('exit', endHard);
  const size = ['-x', String(COLUMNS), '-y', String(ROWS)];
  await tmux('new-session', '-d', '-s', 'main', ...size, '--', ...command);
  const screen = (): Promise<string> => tmux('capture-pane', '-p', '-t', 'main');
  return {
    screen,
    async showing(what) {
      const startedAt = performance.now();
      for (;;) {
        const now = await screen();
        if (what.test(now)) return now;
        if (performance.now() - startedAt > LIMIT_MS) throw new Error(`the screen never showed ${what}:\n${now}`);
        await sleep(LOOK_EVERY_MS);
      }
    },
    type: async (text) => void (await tmux('send-keys', '-t', 'main', '-l', text)),
    press: async (...keys) => void (await tmux('send-keys', '-t', 'main', ...keys)),
    async end() {
      process.off('exit', endHard);
      await tmux('kill-server');
    },
  };
};
