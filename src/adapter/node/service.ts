import { existsSync, realpathSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import {
  ConfigError,
  logUnknownVariables,
  type UnknownVariables,
  type Variables,
  withUnknownVariables,
} from '../../core/config.ts';
import type { Handler } from '../../core/http/handler.ts';
import type { Log } from '../../core/log.ts';
import { type ListenOptions, serveNode } from './server.ts';
import { STOP_SIGNALS } from './signals.ts';

/** Writes log lines to stderr, all of one turn of the event loop in one write. */
type LineWriter = { readonly write: (line: string) => void; readonly flush: () => void };

/** Creates the writer of a process. */
export const createLineWriter = (): LineWriter => {
  let lines: string[] = [];
  // A closed pipe must not end the service.
  process.stderr.on('error', () => {});
  const flush = (): void => {
    if (lines.length === 0) return;
    const text = `${lines.join('\n')}\n`;
    lines = [];
    process.stderr.write(text);
  };
  return {
    write(line) {
      if (lines.push(line) === 1) setImmediate(flush);
    },
    flush,
  };
};

/** A service that is built and can be served. */
export type Service = Omit<ListenOptions, 'limits'> & {
  readonly handler: Handler;
  readonly log: Log;
  /** Called once the port is open. */
  readonly onListening?: () => void;
  /** Called when the service stops: ends what would keep connections open. */
  readonly onStopping?: () => Promise<void>;
  /** Closes connection pools and shared state. */
  readonly close: () => Promise<void>;
};

/** What the process gives to the service that it runs. */
export type ProcessContext = {
  readonly variables: Variables;
  readonly writeLine: (line: string) => void;
  readonly isStopping: () => boolean;
};

type ServiceName = {
  readonly name: string;
  /** The variables that look like the service's and have no effect. */
  readonly unknownVariables: (variables: Variables) => UnknownVariables;
};

/** How long requests that run may take once the service is asked to stop. */
export const STOP_LIMIT_MS = 10_000;
/** How long closing connection pools and shared state may take after that. */
const CLOSE_LIMIT_MS = 1000;
/** One Ctrl-C can arrive twice, from the terminal and from the parent process: within this time it counts once. */
const SIGNAL_ECHO_MS = 300;

/** Whether the file at `url` is the program that was started, also through a symbolic link. */
export const isMain = (url: string): boolean => {
  const [, started] = process.argv;
  // With `node --eval` this argument is no file.
  return started !== undefined && existsSync(started) && realpathSync(started) === fileURLToPath(url);
};

/** The lines that explain a failed start: what is wrong and what is expected, without values that may be secret. */
export const startErrors = (error: unknown): readonly string[] => {
  if (error instanceof ConfigError) return error.problems;
  const { code, address, port }: Readonly<Record<string, unknown>> = error instanceof Error ? { ...error } : {};
  if (code === 'EADDRINUSE') return [`PORT: port ${port} on ${address} is in use; set PORT to a free one`];
  if (code === 'EACCES') return [`PORT: port ${port} may not be used by this user; set PORT to 1024 or above`];
  if (code === 'ENOTSUP') return ['REUSE_PORT: this system has no ports that processes share; leave it unset'];
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND')
    return ['HOST: expected an address of this machine, such as 127.0.0.1 or 0.0.0.0'];
  return [`start failed: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`];
};

/** Prints what is wrong for the operator who starts the service: outside the log, and at every log level. */
const printErrors = (name: string, errors: readonly string[]): void => {
  for (const line of errors) process.stderr.write(`gatehouse ${name}: ${line}\n`);
};

/** Settles with the promise, or after `limitMs`. Cancels nothing. */
const within = (limitMs: number, promise: Promise<unknown> | undefined): Promise<unknown> =>
  Promise.race([promise, new Promise((resolve) => setTimeout(resolve, limitMs))]);

/** Node would print the whole error, whose message may hold a user's text or a key. So only its name is printed. */
const exitOnBug = (name: string, lines: LineWriter): void => {
  process.on('uncaughtException', (bug: unknown) => {
    lines.flush();
    process.stderr.write(`gatehouse ${name}: stopped by a bug (${bug instanceof Error ? bug.name : typeof bug})\n`);
    process.exit(1);
  });
};

/**
 * Runs a service until a signal ends it: each of `STOP_SIGNALS` stops accepting, lets running requests finish and exits 0; a
 * second one exits at once with 1. A failed start prints its errors, one a line, and exits 1. Either way it names the variables
 * that have no effect.
 */
export const runService = async (
  { name, unknownVariables }: ServiceName,
  build: (side: ProcessContext) => Promise<Service>,
): Promise<void> => {
  const lines = createLineWriter();
  let isStopping = false;
  exitOnBug(name, lines);
  try {
    const service = await build({ variables: process.env, writeLine: lines.write, isStopping: () => isStopping });
    logUnknownVariables(unknownVariables(process.env), service.log);
    const server = await serveNode(service.handler, service);
    let stoppedAt = 0;
    const stop = async (signal: string): Promise<void> => {
      if (isStopping) {
        if (performance.now() - stoppedAt > SIGNAL_ECHO_MS) process.exit(1);
        return;
      }
      isStopping = true;
      stoppedAt = performance.now();
      service.log('info', 'stopping', { signal });
      await Promise.all([server.stop(STOP_LIMIT_MS), within(STOP_LIMIT_MS, service.onStopping?.())]);
      await within(CLOSE_LIMIT_MS, service.close());
      service.log('info', 'stopped');
      lines.flush();
      process.exit(0);
    };
    for (const signal of STOP_SIGNALS) process.on(signal, () => void stop(signal));
    // The parent process has ended.
    process.on('disconnect', () => void stop('disconnect'));
    // After the signal handlers: a reader of this line may send a signal at once.
    service.log('info', 'listening', { address: server.address });
    service.onListening?.();
    // For a parent process that started this one with an IPC channel, and waits.
    process.send?.({ event: 'listening', address: server.address });
  } catch (error) {
    lines.flush();
    printErrors(name, startErrors(withUnknownVariables(error, unknownVariables(process.env))));
    process.exit(1);
  }
};
