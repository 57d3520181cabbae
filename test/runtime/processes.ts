import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createServer } from 'node:net';
import { dirname, join, resolve } from 'node:path';
import { BUNDLE_CACHE } from '../compile-cache.ts';

export const ROOT = resolve(import.meta.dirname, '../..');

/** The path of a built file. Fails with what to do when there has been no build. */
export const bundle = (name: string): string => {
  const file = join(ROOT, 'dist', name);
  if (!existsSync(file)) throw new Error(`dist/${name} is missing: these tests run the bundles, so build them first`);
  return file;
};

/** The path of a program that an npm package brings. */
export const program = (name: string): string => join(ROOT, 'node_modules/.bin', name);

export type Variables = Readonly<Record<string, string | undefined>>;
export type Ended = { readonly code: number | null; readonly signal: NodeJS.Signals | null };

export type Running = {
  readonly child: ChildProcess;
  readonly stdout: () => string;
  readonly stderr: () => string;
  /** Settles when the process is gone and all that it wrote has been read. */
  readonly ended: Promise<Ended>;
  /** The first match in what the process has written so far or writes yet; fails when it ends or takes too long. */
  readonly outputMatching: (pattern: RegExp) => Promise<RegExpExecArray>;
  readonly signal: (name: NodeJS.Signals) => void;
  /** Ends the process the hard way and waits until it is gone. */
  readonly kill: () => Promise<void>;
};

type StartNeeds = {
  readonly variables?: Variables;
  readonly directory?: string;
  /** A process group of its own, as a terminal gives to what is started in it. */
  readonly isGroup?: boolean;
};

const OUTPUT_LIMIT_MS = 20_000;
const ENDING_LIMIT_MS = 40_000;

const alive = new Map<ChildProcess, () => void>();
process.on('exit', () => {
  for (const end of alive.values()) end();
});

/** Only what a program needs to be found: neither proxies nor keys of whoever runs the tests. */
const bareVariables = (): Variables => ({
  PATH: `${dirname(process.execPath)}:${process.env.PATH}`,
  HOME: process.env.HOME,
  NO_COLOR: '1',
  ...BUNDLE_CACHE,
});

/** Whether a process of the group is left. */
export const isGroupAlive = (group: number): boolean => {
  try {
    return process.kill(-group, 0);
  } catch {
    return false;
  }
};

/** Starts a program. What still runs when the tests end is ended with them. */
export const start = (
  command: string,
  words: readonly string[],
  { variables = {}, directory = ROOT, isGroup = false }: StartNeeds = {},
): Running => {
  const child = spawn(command, words, {
    cwd: directory,
    env: { ...bareVariables(), ...variables },
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
    detached: isGroup,
  });
  const endHard = () => {
    // The whole group: what it started itself must not be left over either.
    if (isGroup && child.pid !== undefined && isGroupAlive(child.pid)) process.kill(-child.pid, 'SIGKILL');
    else child.kill('SIGKILL');
  };
  alive.set(child, endHard);
  let stdout = '';
  let stderr = '';
  let isOver = false;
  const listeners = new Set<() => void>();
  const collected = () => {
    for (const listener of listeners) listener();
  };
  // Some programs tell facts on a channel of their own: it counts as standard output.
  for (const stream of [child.stdout, child.stdio[3]]) {
    if (stream === null || stream === undefined || !('setEncoding' in stream)) continue;
    stream.setEncoding('utf8').on('data', (text: string) => {
      stdout += text;
      collected();
    });
  }
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
    collected();
  });
  const ended = new Promise<Ended>((settle) => {
    child.on('error', (error) => {
      stderr += String(error);
    });
    child.on('close', (code, signal) => {
      alive.delete(child);
      isOver = true;
      settle({ code, signal });
      collected();
    });
  });
  return {
    child,
    stdout: () => stdout,
    stderr: () => stderr,
    ended,
    outputMatching: (pattern) =>
      new Promise((settle, reject) => {
        const finish = (end: () => void) => {
          listeners.delete(look);
          clearTimeout(timer);
          end();
        };
        const fail = (why: string) =>
          finish(() => reject(new Error(`${why} ${pattern}; it wrote:\n${stdout}${stderr}`)));
        const look = () => {
          const match = pattern.exec(stdout) ?? pattern.exec(stderr);
          if (match !== null) finish(() => settle(match));
          else if (isOver) fail(`${command} ended without saying`);
        };
        const timer = setTimeout(() => {
          fail(`${command} takes too long to say`);
          // Left alone it would keep the tests from ending.
          endHard();
        }, OUTPUT_LIMIT_MS);
        listeners.add(look);
        look();
      }),
    signal: (name) => child.kill(name),
    async kill() {
      endHard();
      await ended;
    },
  };
};

/** Runs a program to its end. */
export const run = async (
  command: string,
  words: readonly string[],
  needs?: StartNeeds,
): Promise<Ended & { readonly stdout: string; readonly stderr: string }> => {
  const running = start(command, words, needs);
  const timer = setTimeout(() => running.signal('SIGKILL'), ENDING_LIMIT_MS);
  const ended = await running.ended;
  clearTimeout(timer);
  return { ...ended, stdout: running.stdout(), stderr: running.stderr() };
};

/** A port of this machine on which nobody listens at the moment. */
export const freePort = (): Promise<number> =>
  new Promise((settle) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => settle(typeof address === 'object' && address !== null ? address.port : 0));
    });
  });
