import { existsSync, realpathSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { ConfigError, type Variables } from '../../core/config.ts';
import type { Handler } from '../../core/http/handler.ts';
import type { Log } from '../../core/log.ts';
import { type RunningServer, serveNode } from './server.ts';

/** Log lines on stderr, gathered for one turn of the loop: one write for many lines under load. */
export type LineWriter = { readonly write: (line: string) => void; readonly flush: () => void };

export const createLineWriter = (): LineWriter => {
  let lines: string[] = [];
  // A closed pipe must not take the service down with it.
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
export type Service = {
  readonly handler: Handler;
  readonly host: string;
  readonly port: number;
  readonly log: Log;
  /** Called once the port is open. */
  readonly onListening?: () => void;
  /** Ends what would otherwise keep connections open, when the service is to stop. */
  readonly onStopping?: () => Promise<void>;
  /** Lets go of what the service holds outside: pools, shared state. */
  readonly close: () => Promise<void>;
};

/** What a service is given by the process it runs in. */
export type ProcessSide = {
  readonly variables: Variables;
  readonly writeLine: (line: string) => void;
  readonly isStopping: () => boolean;
};

const STOP_LIMIT_MS = 10_000;
const CLOSE_LIMIT_MS = 1000;
/** One Ctrl-C can arrive twice, from the terminal and from the program that started this one: within this time it counts once. */
const ECHO_MS = 300;

/** Whether the file at `url` was started as the program, also through a link. */
export const isMain = (url: string): boolean => {
  const [, started] = process.argv;
  // What stands there need not be a file: it is any word when the program was given as a text.
  return started !== undefined && existsSync(started) && realpathSync(started) === fileURLToPath(url);
};

/** The lines that tell why a start failed: each names what is wrong and what is expected, none a value that may be secret. */
const complaintsOf = (error: unknown): readonly string[] => {
  if (error instanceof ConfigError) return error.problems;
  const { code, address, port } =
    error instanceof Error ? (error as NodeJS.ErrnoException & Partial<Record<'address' | 'port', unknown>>) : {};
  if (code === 'EADDRINUSE') return [`PORT: port ${port} on ${address} is in use; set PORT to a free one`];
  if (code === 'EACCES') return [`PORT: port ${port} may not be used by this user; set PORT to 1024 or above`];
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND')
    return ['HOST: expected an address of this machine, such as 127.0.0.1 or 0.0.0.0'];
  return [`start failed: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`];
};

/** Settles with the promise, or when the time is over. What it waits for goes on. */
const within = (limitMs: number, promise: Promise<unknown> | undefined): Promise<unknown> =>
  Promise.race([promise, new Promise((resolve) => setTimeout(resolve, limitMs))]);

const serve = ({ handler, host, port }: Service): Promise<RunningServer> => serveNode(handler, { host, port });

/**
 * Runs a service until a signal ends it: SIGTERM or SIGINT stops accepting, lets what runs finish and exits 0; a second
 * one exits at once. A start that fails prints why, a line a problem, and exits 1.
 */
export const runService = async (name: string, build: (side: ProcessSide) => Promise<Service>): Promise<void> => {
  const lines = createLineWriter();
  let isStopping = false;
  // A bug's own words may hold a user's text or a key, and Node would print them all. So only its kind is told.
  process.on('uncaughtException', (bug: unknown) => {
    lines.flush();
    process.stderr.write(`gatehouse ${name}: stopped by a bug (${bug instanceof Error ? bug.name : typeof bug})\n`);
    process.exit(1);
  });
  try {
    const service = await build({ variables: process.env, writeLine: lines.write, isStopping: () => isStopping });
    const server = await serve(service);
    let stoppedAt = 0;
    const stop = async (signal: string): Promise<void> => {
      if (isStopping) {
        if (performance.now() - stoppedAt > ECHO_MS) process.exit(1);
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
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => void stop(signal));
    // The program that started this one is gone, however it ended.
    process.on('disconnect', () => void stop('disconnect'));
    // Only now: whoever reads it may send a signal at once.
    service.log('info', 'listening', { address: server.address });
    service.onListening?.();
    // For a program that started this one with a channel to it, and waits.
    process.send?.({ event: 'listening', address: server.address });
  } catch (error) {
    lines.flush();
    for (const complaint of complaintsOf(error)) process.stderr.write(`gatehouse ${name}: ${complaint}\n`);
    process.exit(1);
  }
};
