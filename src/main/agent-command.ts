import { createReadStream } from 'node:fs';
import { resolve } from 'node:path';
import * as v from 'valibot';
import { openSqliteSnapshot } from '../adapter/sqlite-snapshot.ts';
import { openSqliteStore } from '../adapter/sqlite-store.ts';
import { systemClock } from '../adapter/system-clock.ts';
import { exportSession } from '../agent/export-session.ts';
import { createIds } from '../agent/ids.ts';
import { importSession } from '../agent/import-session.ts';
import { readSessionDocument } from '../agent/session-document.ts';
import { SessionProblem } from '../agent/session-problem.ts';
import { AgentVariables } from '../agent/variables.ts';
import { ConfigError, readVariables } from '../core/config.ts';

const HELP = `gatehouse agent: sessions and messages with a model that can call tools, under permission rules

Usage: gatehouse agent                                 the server
       gatehouse agent export <session>                writes a session and those under it to standard output, as JSON
       gatehouse agent import <file | -> [--new-ids]   keeps what was exported, and prints the id of the session

The server is configured by a file and by environment variables. The ones to start with:

  AGENT_CONFIG            the configuration: providers, models, agents, tool servers, permissions (default ./agent.json)
  AGENT_CONFIG_CONTENT    the same as a text, over what the file says
  AGENT_SERVER_PASSWORD   what clients must know; without it, and without HOST, only this machine is let in
  AGENT_SERVER_USERNAME   the user that goes with it (default opencode)
  AGENT_DATABASE_URL      where sessions are kept (default sqlite:./data/agent.db); export and import use it too
  HOST, PORT              where to listen (default 127.0.0.1, or 0.0.0.0 with a password; 4000)

An export only reads, also beside a server that runs. It holds what was said in full: keep it like the database itself.

An import refuses ids that are taken; --new-ids gives every session, message and part another one. A server that runs
shows what was imported, but tells nobody of it who listens already. Sessions bring their own permission rules along: look at
the document first when it is not your own.
`;

/** More is no conversation; a text of this size still fits into the memory of a small machine. */
const DOCUMENT_LIMIT_BYTES = 256 * 1024 * 1024;

const databasePath = (): string =>
  resolve(readVariables(v.pick(AgentVariables, ['AGENT_DATABASE_URL']), process.env).AGENT_DATABASE_URL);

const printed = (text: string): Promise<void> =>
  new Promise((settle, reject) => {
    // Whoever reads may leave before the end, and that is no failure of ours to explain.
    process.stdout.once('error', reject);
    process.stdout.write(text, (error) => (error ? reject(error) : settle()));
  });

const codeOf = (error: unknown): string => (error instanceof Error && 'code' in error ? String(error.code) : 'unknown');

const textOf = async (file: string): Promise<string> => {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  const pieces: string[] = [];
  let bytes = 0;
  try {
    for await (const chunk of file === '-' ? process.stdin : createReadStream(file)) {
      bytes += chunk.length;
      if (bytes > DOCUMENT_LIMIT_BYTES) throw new SessionProblem([`expected at most ${DOCUMENT_LIMIT_BYTES} bytes`]);
      pieces.push(decoder.decode(chunk, { stream: true }));
    }
    pieces.push(decoder.decode());
  } catch (error) {
    if (error instanceof SessionProblem) throw error;
    if (codeOf(error) === 'ERR_ENCODING_INVALID_ENCODED_DATA') throw new SessionProblem(['expected UTF-8']);
    throw new SessionProblem([`Cannot read the document: ${codeOf(error)}`]);
  }
  return pieces.join('');
};

const runExport = async (id: string): Promise<void> => {
  const snapshot = await openSqliteSnapshot(databasePath());
  try {
    const document = await exportSession(snapshot, id);
    if (document === undefined)
      throw new SessionProblem(['Cannot export the session: the store holds none of this id']);
    await printed(`${JSON.stringify(document)}\n`);
  } finally {
    snapshot.close();
  }
};

const runImport = async (file: string, hasNewIDs: boolean): Promise<void> => {
  const path = databasePath();
  const document = readSessionDocument(await textOf(file));
  const clock = systemClock;
  const ids = createIds(clock, (count) => crypto.getRandomValues(new Uint8Array(count)));
  const store = await openSqliteStore({ file: path, ids });
  try {
    await printed(`${await importSession({ store, ids, clock }, document, { hasNewIDs })}\n`);
  } finally {
    await store.close();
  }
};

const follow = async ([verb, ...words]: readonly string[]): Promise<void> => {
  const flags = words.filter((word) => word.startsWith('--'));
  const [given, ...more] = words.filter((word) => !word.startsWith('--'));
  const isOne = given !== undefined && more.length === 0;
  if (verb === 'export' && isOne && flags.length === 0) return runExport(given);
  if (verb === 'import' && isOne && flags.every((flag) => flag === '--new-ids')) {
    return runImport(given, flags.length > 0);
  }
  throw new SessionProblem(['expected export <session>, or import <file | -> [--new-ids]; see gatehouse agent --help']);
};

const complaintsOf = (error: unknown): readonly string[] => {
  if (error instanceof ConfigError || error instanceof SessionProblem) return error.problems;
  // SQLite's own words name no value of a row; a path of the machine may stand in others.
  if (codeOf(error) === 'ERR_SQLITE_ERROR')
    return ['the database could not be read or written; is it in use or damaged?'];
  throw error;
};

/** Runs `gatehouse agent` with arguments and answers with its exit code. Only a bug makes it reject. */
export const runAgentCommand = async (words: readonly string[]): Promise<number> => {
  if (words.some((word) => word === '--help' || word === '-h')) {
    await printed(HELP);
    return 0;
  }
  try {
    await follow(words);
    return 0;
  } catch (error) {
    if (codeOf(error) === 'EPIPE') return 1;
    for (const complaint of complaintsOf(error)) process.stderr.write(`gatehouse agent: ${complaint}\n`);
    return 1;
  }
};
