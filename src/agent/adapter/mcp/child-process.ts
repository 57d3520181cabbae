import { type ChildProcess, spawn } from 'node:child_process';
import { errorCode } from '../../../adapter/node/error-code.ts';
import { McpServerError } from '../../tools/mcp/errors.ts';
import { createLineSplitter, createShortLineReader } from './lines.ts';

/** Stores the last lines of an output. Drops a line that is cut off: half of a secret could not be recognized and redacted. */
const createLastLines = (limitBytes: number) => {
  let kept = Buffer.alloc(0);
  let isCut = false;
  return {
    take(chunk: Buffer): void {
      const all = Buffer.concat([kept, chunk.subarray(-limitBytes)]);
      isCut ||= kept.length + chunk.length > limitBytes;
      kept = all.subarray(-limitBytes);
    },
    text(): string {
      const text = kept.toString('utf8');
      return isCut ? text.slice(text.indexOf('\n') + 1 || text.length) : text;
    },
  };
};

type ChildOptions = {
  readonly command: readonly string[];
  readonly cwd: string | undefined;
  /** The whole environment of the child. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** A longer line ends the child, and so does as much input that it does not read. */
  readonly lineLimitBytes: number;
  readonly onLine: (line: string) => void;
  /** Receives the lines of its standard error, without long ones. */
  readonly onErrorLine: (line: string) => void;
  /** Called once when the child can no longer be used, with the reason. The process may end a moment later. */
  readonly onEnd: (why: McpServerError) => void;
};

/** A child process with line-based input and output. If it fails, its error holds the last lines of its standard error. */
export type LineProcess = {
  /** Settles when the process runs. Rejects with a `McpServerError`. */
  readonly started: Promise<void>;
  readonly write: (line: string) => void;
  /** Ends the child and its own children, within some two seconds. Settles when it has ended. */
  readonly stop: () => Promise<void>;
};

/** How long a child may take to exit after the end of its input, before it gets SIGTERM. */
const TERMINATE_AFTER_MS = 500;
const KILL_AFTER_MS = 2000;
/** How long the rest of the output is read after the exit. A grandchild may hold the output open for longer. */
const DRAIN_MS = 200;
const LAST_LINES_BYTES = 4096;
const ERROR_LINE_BYTES = 2048;
const HAS_GROUPS = process.platform !== 'win32';

const toStartError = (error: unknown): McpServerError => {
  const code = errorCode(error);
  if (code === 'ENOENT')
    return new McpServerError('unreachable', 'The program, or the directory it is to run in, was not found');
  if (code === 'EACCES') return new McpServerError('unreachable', 'The program may not be run');
  return new McpServerError('unreachable', 'The program could not be started');
};
const toEndError = (code: number | null, signal: string | null, lastStderr: string): McpServerError => {
  if (signal !== null) return new McpServerError('ended', `The program was ended by ${signal}`);
  const hasFailed = code !== 0 && lastStderr.trim() !== '';
  return new McpServerError('ended', `The program ended with exit code ${code}`, hasFailed ? { lastStderr } : {});
};

/** Sends a signal to a child, and where the system has process groups to all processes that it started. */
const kill = ({ pid, exitCode, signalCode }: ChildProcess, signal: NodeJS.Signals): void => {
  if (pid === undefined) return;
  try {
    if (HAS_GROUPS) process.kill(-pid, signal);
    else if (exitCode === null && signalCode === null) process.kill(pid, signal);
  } catch {
    // It has ended already.
  }
};

const spawnChild = ({ command: [program = '', ...args], cwd, environment }: ChildOptions): ChildProcess =>
  spawn(program, args, {
    env: { ...environment },
    ...(cwd === undefined ? {} : { cwd }),
    stdio: ['pipe', 'pipe', 'pipe'],
    detached: HAS_GROUPS,
    windowsHide: true,
  });

export type ChildProcesses = {
  /** Starts a program. Never throws: a program that cannot be started has ended. */
  readonly start: (options: ChildOptions) => LineProcess;
};

/** Starts child processes. When this process exits, it kills them. When it is killed, their input ends. */
export const createChildProcesses = (): ChildProcesses => {
  const alive = new Set<ChildProcess>();
  const killAll = (): void => {
    for (const child of alive) kill(child, 'SIGKILL');
  };
  return {
    start: (options) =>
      startChild(options, {
        add(child) {
          if (alive.size === 0) process.on('exit', killAll);
          alive.add(child);
        },
        drop(child) {
          if (alive.delete(child) && alive.size === 0) process.off('exit', killAll);
        },
      }),
  };
};

type ProcessRegister = { readonly add: (child: ChildProcess) => void; readonly drop: (child: ChildProcess) => void };

const startChild = (options: ChildOptions, register: ProcessRegister): LineProcess => {
  const { onLine, onErrorLine, lineLimitBytes } = options;
  const started = Promise.withResolvers<void>();
  const gone = Promise.withResolvers<void>();
  let hasEnded = false;
  const end = (why: McpServerError): void => {
    if (hasEnded) return;
    hasEnded = true;
    started.reject(why);
    options.onEnd(why);
  };
  // Callers need not await `started`.
  started.promise.catch(() => {});
  const fail = (error: unknown): void => {
    gone.resolve();
    end(toStartError(error));
  };
  let child: ChildProcess;
  try {
    child = spawnChild(options);
  } catch (error) {
    fail(error);
    return { started: started.promise, write: () => {}, stop: () => gone.promise };
  }
  let stopping: Promise<void> | undefined;
  const stop = (): Promise<void> => {
    stopping ??= (async () => {
      end(new McpServerError('ended', 'The program was stopped'));
      child.stdin?.end();
      const timers = [
        setTimeout(() => kill(child, 'SIGTERM'), TERMINATE_AFTER_MS),
        setTimeout(() => kill(child, 'SIGKILL'), KILL_AFTER_MS),
      ];
      await gone.promise;
      for (const timer of timers) clearTimeout(timer);
    })();
    return stopping;
  };
  const failChild = (message: string): void => {
    end(new McpServerError('ended', message));
    void stop();
  };
  /** Waits a moment: most often the child is about to exit, and its exit code says more. */
  const failSoon = (message: string): void => {
    setTimeout(() => {
      if (!hasEnded) failChild(message);
    }, DRAIN_MS).unref();
  };
  if (child.pid !== undefined) register.add(child);
  child.on('spawn', started.resolve);
  // Also emitted when a signal cannot be sent. Then the child has been started.
  child.on('error', (error) => {
    if (child.pid === undefined) fail(error);
  });
  child.on('exit', (code, signal) => {
    kill(child, 'SIGKILL');
    register.drop(child);
    const late = setTimeout(() => {
      child.stdout?.destroy();
      child.stderr?.destroy();
      child.stdin?.destroy();
    }, DRAIN_MS);
    child.on('close', () => {
      clearTimeout(late);
      gone.resolve();
      end(toEndError(code, signal, lastLines.text()));
    });
  });
  const lastLines = createLastLines(LAST_LINES_BYTES);
  child.stderr?.on('data', lastLines.take);
  child.stderr?.on('data', createShortLineReader(ERROR_LINE_BYTES, onErrorLine));
  child.stderr?.on('error', () => {});
  child.stdin?.on('error', () => failSoon('The program no longer reads its input'));
  const splitLines = createLineSplitter(lineLimitBytes, (line) => {
    if (!hasEnded) onLine(line);
  });
  child.stdout?.on('data', (chunk: Buffer) => {
    if (!hasEnded && !splitLines(chunk)) failChild('The program wrote a line that is too long');
  });
  child.stdout?.on('end', () => failSoon('The program closed its output'));
  child.stdout?.on('error', () => failSoon('The output of the program broke'));
  return {
    started: started.promise,
    write(line) {
      if (hasEnded) return;
      if ((child.stdin?.writableLength ?? 0) > lineLimitBytes) failChild('The program does not read its input');
      else child.stdin?.write(`${line}\n`);
    },
    stop,
  };
};
