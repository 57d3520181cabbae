import { type ChildProcess, spawn } from 'node:child_process';
import { McpProblem } from '../../agent/mcp/errors.ts';

const LINE_FEED = 0x0a;

/** Takes bytes and tells whole lines, without their breaks. False once a line that has not ended is longer than it may be. */
export const createLines = (limitBytes: number, onLine: (line: string) => void) => {
  let parts: Buffer[] = [];
  let bytes = 0;
  return (chunk: Buffer): boolean => {
    let rest = chunk;
    for (let end = rest.indexOf(LINE_FEED); end !== -1; end = rest.indexOf(LINE_FEED)) {
      const line = Buffer.concat([...parts, rest.subarray(0, end)]);
      parts = [];
      bytes = 0;
      rest = rest.subarray(end + 1);
      onLine(line.toString('utf8'));
    }
    if (rest.length > 0) parts.push(rest);
    bytes += rest.length;
    return bytes <= limitBytes;
  };
};

/** The last lines of what was written. Of one that is too long nothing is kept: half of a secret could not be known as one. */
export const createLastLines = (limitBytes: number) => {
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

export type ChildNeeds = {
  readonly command: readonly string[];
  readonly cwd: string | undefined;
  /** The whole environment of the child. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** A longer line ends the child, and so does as much that it leaves unread. */
  readonly lineLimitBytes: number;
  readonly onLine: (line: string) => void;
  /** Hears once that the child is of no more use, and why. It may take a moment until it is gone. */
  readonly onEnd: (why: McpProblem) => void;
};

/** A program that is spoken to in lines. Of what it writes to standard error only the end is kept, and told if it fails. */
export type ChildLines = {
  /** Settles when it runs; rejects with a `McpProblem`. */
  readonly started: Promise<void>;
  readonly write: (line: string) => void;
  /** Ends the child and whatever it started, within some two seconds. Settles when it is gone. */
  readonly stop: () => Promise<void>;
};

/** Time to see the end of the input and leave in good order, before a signal says the same. */
const LEAVE_MS = 500;
const KILL_AFTER_MS = 2000;
/** What a child has written may still be on its way when it is gone; another that holds its output is not waited for. */
const DRAIN_MS = 200;
const LAST_WORDS_BYTES = 4096;
const HAS_GROUPS = process.platform !== 'win32';

const startProblem = (error: unknown): McpProblem => {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === 'ENOENT')
    return new McpProblem('unreachable', 'The program, or the directory it is to run in, was not found');
  if (code === 'EACCES') return new McpProblem('unreachable', 'The program may not be run');
  return new McpProblem('unreachable', 'The program could not be started');
};
const endProblem = (code: number | null, signal: string | null, lastWords: string): McpProblem => {
  if (signal !== null) return new McpProblem('ended', `The program was ended by ${signal}`);
  const hasFailed = code !== 0 && lastWords.trim() !== '';
  return new McpProblem('ended', `The program ended with exit code ${code}`, hasFailed ? { lastWords } : {});
};

/** Ends a child, and on systems that know groups of processes all that it has started too. */
const kill = ({ pid, exitCode, signalCode }: ChildProcess, signal: NodeJS.Signals): void => {
  if (pid === undefined) return;
  try {
    if (HAS_GROUPS) process.kill(-pid, signal);
    else if (exitCode === null && signalCode === null) process.kill(pid, signal);
  } catch {
    // It is gone already.
  }
};

const spawned = ({ command: [program = '', ...words], cwd, environment }: ChildNeeds): ChildProcess =>
  spawn(program, words, {
    env: { ...environment },
    ...(cwd === undefined ? {} : { cwd }),
    stdio: ['pipe', 'pipe', 'pipe'],
    detached: HAS_GROUPS,
    windowsHide: true,
  });

export type Children = {
  /** Starts a program. Nothing is thrown: a program that cannot be started has ended. */
  readonly start: (needs: ChildNeeds) => ChildLines;
};

/** A parent that ends without stopping its children takes them along. When it is killed, they see their input end. */
export const createChildren = (): Children => {
  const alive = new Set<ChildProcess>();
  const killAll = (): void => {
    for (const child of alive) kill(child, 'SIGKILL');
  };
  return {
    start: (needs) =>
      startChild(needs, {
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

type Register = { readonly add: (child: ChildProcess) => void; readonly drop: (child: ChildProcess) => void };

const startChild = (needs: ChildNeeds, register: Register): ChildLines => {
  const { onLine, lineLimitBytes } = needs;
  const started = Promise.withResolvers<void>();
  const gone = Promise.withResolvers<void>();
  let hasEnded = false;
  const end = (why: McpProblem): void => {
    if (hasEnded) return;
    hasEnded = true;
    started.reject(why);
    needs.onEnd(why);
  };
  // Whoever asks hears of it; nobody has to ask.
  started.promise.catch(() => {});
  const fail = (error: unknown): void => {
    gone.resolve();
    end(startProblem(error));
  };
  let child: ChildProcess;
  try {
    child = spawned(needs);
  } catch (error) {
    fail(error);
    return { started: started.promise, write: () => {}, stop: () => gone.promise };
  }
  let stopping: Promise<void> | undefined;
  const stop = (): Promise<void> => {
    stopping ??= (async () => {
      end(new McpProblem('ended', 'The program was stopped'));
      child.stdin?.end();
      const timers = [
        setTimeout(() => kill(child, 'SIGTERM'), LEAVE_MS),
        setTimeout(() => kill(child, 'SIGKILL'), KILL_AFTER_MS),
      ];
      await gone.promise;
      for (const timer of timers) clearTimeout(timer);
    })();
    return stopping;
  };
  const spoil = (message: string): void => {
    end(new McpProblem('ended', message));
    void stop();
  };
  /** Most often the child is just about to be gone, and how it went says more. */
  const suspect = (message: string): void => {
    setTimeout(() => {
      if (!hasEnded) spoil(message);
    }, DRAIN_MS).unref();
  };
  if (child.pid !== undefined) register.add(child);
  child.on('spawn', started.resolve);
  // Also told when a signal cannot be sent, and then it has been started.
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
      end(endProblem(code, signal, ending.text()));
    });
  });
  const ending = createLastLines(LAST_WORDS_BYTES);
  child.stderr?.on('data', ending.take);
  child.stderr?.on('error', () => {});
  child.stdin?.on('error', () => suspect('The program no longer reads its input'));
  const take = createLines(lineLimitBytes, (line) => {
    if (!hasEnded) onLine(line);
  });
  child.stdout?.on('data', (chunk: Buffer) => {
    if (!hasEnded && !take(chunk)) spoil('The program wrote a line that is too long');
  });
  child.stdout?.on('end', () => suspect('The program closed its output'));
  child.stdout?.on('error', () => suspect('The output of the program broke'));
  return {
    started: started.promise,
    write(line) {
      if (hasEnded) return;
      if ((child.stdin?.writableLength ?? 0) > lineLimitBytes) spoil('The program does not read its input');
      else child.stdin?.write(`${line}\n`);
    },
    stop,
  };
};
