import { Writable } from 'node:stream';
import v8 from 'node:v8';
import type { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { ConfigError, type Variables } from '../../core/config.ts';
import type { Log } from '../../core/log.ts';
import { createLineWriter } from './service.ts';

/** A protocol server that can be served over a program's standard streams. */
export type StdioService = {
  readonly server: Server;
  readonly log: Log;
  /** Settles when nothing is under way that must be told to a journal. */
  readonly settled: () => Promise<void>;
};

export type StdioSide = { readonly variables: Variables; readonly writeLine: (line: string) => void };

/** Who waits for this program to end waits two seconds at most. */
const STOP_LIMIT_MS = 1500;

/** Standard output for the protocol alone: whatever else is written there by anyone goes to standard error. */
const takeOutput = (): Writable => {
  const write = process.stdout.write.bind(process.stdout);
  process.stdout.write = process.stderr.write.bind(process.stderr);
  // That it broke is told by standard output itself: told here as well it would end the process before its time.
  return new Writable({ write: (chunk: Buffer, _encoding, done) => void write(chunk, () => done()) });
};

/** The variables, of which those in `secrets` are taken out of the process's environment. */
const takeVariables = (secrets: readonly string[]): Variables => {
  const variables = { ...process.env };
  for (const name of secrets) delete process.env[name];
  return variables;
};

/**
 * Runs a protocol server over standard input and output until the input ends, the output breaks or a signal comes, and
 * exits 0 within two seconds. A start that fails prints why, a line a problem, and exits 1.
 */
export const runStdio = async (
  { name, secrets }: { readonly name: string; readonly secrets: readonly string[] },
  build: (side: StdioSide) => StdioService,
): Promise<void> => {
  const output = takeOutput();
  const lines = createLineWriter();
  const fail = (complaints: readonly string[]): never => {
    lines.flush();
    for (const complaint of complaints) process.stderr.write(`gatehouse ${name}: ${complaint}\n`);
    process.exit(1);
  };
  // A bug's own words may hold anything, so only its kind is told.
  process.on('uncaughtException', (error) => fail([`stopped by a bug (${error.name})`]));
  try {
    const { server, log, settled } = build({ variables: takeVariables(secrets), writeLine: lines.write });
    let isStopping = false;
    const stop = async (signal: string): Promise<void> => {
      if (isStopping) return;
      isStopping = true;
      log('info', 'stopping', { signal });
      await Promise.race([settled(), new Promise((resolve) => setTimeout(resolve, STOP_LIMIT_MS))]);
      lines.flush();
      process.exit(0);
    };
    process.stdin.on('end', () => void stop('end of input'));
    process.stdout.on('error', () => void stop('broken output'));
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => void stop(signal));
    server.onclose = () => void stop('closed');
    await server.connect(new StdioServerTransport(process.stdin, output));
    log('info', 'listening');
  } catch (error) {
    fail(
      error instanceof ConfigError
        ? error.problems
        : [`start failed (${error instanceof Error ? error.name : typeof error})`],
    );
  }
};

/** Small generations, and one optimising compiler instead of two. */
const WISHES = ['--optimize-for-size', '--no-maglev'];

/**
 * Has the engine favour memory over speed from now on. For programs that stand beside others and wait most of the time: the
 * young generation would otherwise grow to several times what they need and never shrink. Takes nothing away where an engine
 * knows no such wish.
 */
export const favourMemory = (): void => {
  try {
    for (const wish of WISHES) v8.setFlagsFromString(wish);
  } catch {
    // Another engine, or one that takes no wishes.
  }
};
