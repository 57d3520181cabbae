import { Writable } from 'node:stream';
import v8 from 'node:v8';
import type { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { createLineWriter } from '../../adapter/node/service.ts';
import { STOP_SIGNALS } from '../../adapter/node/signals.ts';
import { ConfigError, type Variables } from '../../core/config.ts';
import type { Log } from '../../core/log.ts';

/** An MCP server that is served over standard input and output. */
export type StdioService = {
  readonly server: Server;
  readonly log: Log;
  /** Settles when no operation runs that must still be written to a journal, and what it has recorded is sent. */
  readonly settled: () => Promise<void>;
};

export type StdioContext = { readonly variables: Variables; readonly writeLine: (line: string) => void };

/** The longest line; a longer one ends the server. No call is as long, and the SDK copies a line again with each piece that comes. */
const LINE_LIMIT_BYTES = 1024 * 1024;
/** MCP clients wait at most two seconds for a server to end. */
const STOP_LIMIT_MS = 1500;

/** Reserves standard output for the protocol: everything else that is written there goes to standard error. */
const reserveStdout = (): Writable => {
  const write = process.stdout.write.bind(process.stdout);
  process.stdout.write = process.stderr.write.bind(process.stderr);
  // Errors are not passed on: standard output emits them itself, and a second one would end the process too early.
  return new Writable({ write: (chunk: Buffer, _encoding, done) => void write(chunk, () => done()) });
};

/** Returns the environment variables, and removes those named in `secrets` from the environment. */
const takeSecrets = (secrets: readonly string[]): Variables => {
  const variables = { ...process.env };
  for (const name of secrets) delete process.env[name];
  return variables;
};

/**
 * Runs an MCP server over standard input and output until the input ends, the output fails or a signal arrives. Then it
 * exits 0 within two seconds. A failed start prints its errors, one a line, and exits 1.
 */
export const runStdio = async (
  { name, secrets }: { readonly name: string; readonly secrets: readonly string[] },
  build: (side: StdioContext) => Promise<StdioService>,
): Promise<void> => {
  const output = reserveStdout();
  const lines = createLineWriter();
  const fail = (errors: readonly string[]): never => {
    lines.flush();
    for (const line of errors) process.stderr.write(`gatehouse ${name}: ${line}\n`);
    process.exit(1);
  };
  // An error's message may hold anything, so only its name is printed.
  process.on('uncaughtException', (error) => fail([`stopped by a bug (${error.name})`]));
  try {
    const { server, log, settled } = await build({ variables: takeSecrets(secrets), writeLine: lines.write });
    let isStopping = false;
    const stop = async (signal: string): Promise<void> => {
      if (isStopping) return;
      isStopping = true;
      log('info', 'stopping', { signal });
      await Promise.race([settled(), new Promise((resolve) => setTimeout(resolve, STOP_LIMIT_MS))]);
      lines.flush();
      process.exit(0);
    };
    for (const event of ['end', 'error', 'close'] as const) process.stdin.on(event, () => void stop('end of input'));
    process.stdout.on('error', () => void stop('broken output'));
    for (const signal of STOP_SIGNALS) process.on(signal, () => void stop(signal));
    server.onclose = () => void stop('closed');
    await server.connect(new StdioServerTransport(process.stdin, output, { maxBufferSize: LINE_LIMIT_BYTES }));
    log('info', 'listening');
  } catch (error) {
    fail(
      error instanceof ConfigError
        ? error.problems
        : [`start failed (${error instanceof Error ? error.name : typeof error})`],
    );
  }
};

/** A small heap, and one optimising compiler instead of two. */
const MEMORY_FLAGS = ['--optimize-for-size', '--no-maglev'];

/**
 * Has V8 prefer low memory over speed from now on. For programs that wait most of the time beside others: the young generation
 * would otherwise grow to several times what they need and never shrink. Does nothing in another engine.
 */
export const preferLowMemory = (): void => {
  try {
    for (const flag of MEMORY_FLAGS) v8.setFlagsFromString(flag);
  } catch {
    // Another engine, or one without these flags.
  }
};
