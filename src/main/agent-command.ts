import { createReadStream } from 'node:fs';
import * as v from 'valibot';
import { systemClock } from '../adapter/node/clock.ts';
import { randomBytes } from '../adapter/web-crypto.ts';
import { documentLines } from '../agent/adapter/document-lines.ts';
import { createIds } from '../agent/protocol/ids.ts';
import { readSessionDocument, SessionDocumentError } from '../agent/session/document.ts';
import { exportSession } from '../agent/session/export.ts';
import { importSession } from '../agent/session/import.ts';

import { AgentVariables, type Database, unknownAgentVariables } from '../agent/settings.ts';
import { isStoreFailure } from '../agent/store/errors.ts';
import { ConfigError, readVariables, unknownVariableWarnings } from '../core/config.ts';
import { openReader, runPrune, runSessions } from './agent/maintenance.ts';
import { openStoreForCommand } from './agent/store.ts';
import { type AgentTask, parseTask } from './agent/task.ts';
import { AGENT_HELP } from './help.ts';

/** Longer than any part that the server creates, so everything that was exported can be imported. */
const LINE_LIMIT_BYTES = 128 * 1024 * 1024;
const PIECE_CHARS = 256 * 1024;

const database = (): Database =>
  readVariables(v.pick(AgentVariables, ['AGENT_DATABASE_URL']), process.env).AGENT_DATABASE_URL;
const onMade = (reason: string): void =>
  void process.stderr.write(`gatehouse agent: AGENT_DATABASE_URL: a new store was made: ${reason}\n`);
const ids = createIds(systemClock, randomBytes);

// The reader of a pipe may close it before the end. `writeOut` rejects then; the stream's own error needs no message.
process.stdout.on('error', () => {});

const writeOut = (text: string): Promise<void> =>
  new Promise((settle, reject) => {
    process.stdout.write(text, (error) => (error ? reject(error) : settle()));
  });

const report = (messages: readonly string[]): void => {
  for (const message of messages) process.stderr.write(`gatehouse agent: ${message}\n`);
};

const errorCode = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : 'unknown';

/** The lines of a file or of standard input. Throws `SessionDocumentError` when it cannot be read. */
async function* readLines(file: string): AsyncGenerator<string> {
  try {
    yield* documentLines(file === '-' ? process.stdin : createReadStream(file), LINE_LIMIT_BYTES);
  } catch (error) {
    if (error instanceof SessionDocumentError) throw error;
    throw new SessionDocumentError([`Cannot read the document: ${errorCode(error)}`]);
  }
}

const runExport = async (id: string): Promise<void> => {
  const source = await openReader(database());
  try {
    const lines = await exportSession(source, id);
    if (lines === undefined)
      throw new SessionDocumentError(['Cannot export the session: the store holds none of this id']);
    let piece = '';
    for await (const line of lines) {
      piece += `${line}\n`;
      if (piece.length < PIECE_CHARS) continue;
      await writeOut(piece);
      piece = '';
    }
    await writeOut(piece);
  } finally {
    await source.close();
  }
};

const runImport = async (file: string, hasNewIDs: boolean): Promise<void> => {
  const target = database();
  const document = await readSessionDocument(readLines(file));
  const { store, close } = await openStoreForCommand(target, { ids, onMade });
  try {
    await writeOut(`${await importSession({ store, ids }, document, { hasNewIDs })}\n`);
  } finally {
    await close();
  }
};

const runTask = async (task: AgentTask): Promise<void> => {
  const print = (line: string): Promise<void> => writeOut(`${line}\n`);
  switch (task.kind) {
    case 'sessions':
      return runSessions(database(), task, print);
    case 'export':
      return runExport(task.sessionID);
    case 'import':
      return runImport(task.file, task.hasNewIDs);
    case 'prune':
      return runPrune(database(), { task, ids, print });
    default:
      return task satisfies never;
  }
};

const errorMessages = (error: unknown): readonly string[] => {
  if (error instanceof ConfigError || error instanceof SessionDocumentError) return error.problems;
  // SQLite's own messages contain no stored values, but other errors may contain a path of this machine.
  if (errorCode(error) === 'ERR_SQLITE_ERROR')
    return ['the database could not be read or written; is it in use or damaged?'];
  if (isStoreFailure(error)) return [`${error.message}; what was done so far stays`];
  // A PostgreSQL message may quote stored values; its code does not.
  if (error instanceof Error && error.name === 'PostgresError')
    return [`the database refused it (${errorCode(error)})`];
  throw error;
};

/** Runs `gatehouse agent` with arguments and returns its exit code. Rejects only for a bug. */
export const runAgentCommand = async (args: readonly string[]): Promise<number> => {
  if (args.some((arg) => arg === '--help' || arg === '-h')) {
    await writeOut(AGENT_HELP);
    return 0;
  }
  try {
    const task = parseTask(args);
    // A misspelt address leads to the default database.
    report(unknownVariableWarnings(unknownAgentVariables(process.env)));
    await runTask(task);
    return 0;
  } catch (error) {
    if (errorCode(error) === 'EPIPE') return 1;
    report(errorMessages(error));
    return 1;
  }
};
