import { createReadStream } from 'node:fs';
import * as v from 'valibot';
import { systemClock } from '../adapter/node/clock.ts';
import { documentLines } from '../adapter/node/files.ts';
import { randomBytes } from '../adapter/web/crypto.ts';
import { createIds } from '../agent/protocol/ids.ts';
import { readSessionDocument, SessionDocumentError } from '../agent/session/document.ts';
import { exportSession } from '../agent/session/export.ts';
import { importSession } from '../agent/session/import.ts';

import { AgentVariables, type Database } from '../agent/settings.ts';
import { StoreUnavailableError } from '../agent/store/errors.ts';
import { ConfigError, readVariables } from '../core/config.ts';
import { openReader, runPrune, runSessions } from './agent/maintenance.ts';
import { type AgentTask, taskFrom } from './agent/messages.ts';
import { openStoreBeside } from './agent/store.ts';
import { AGENT_HELP } from './help.ts';

/** No part that the server makes is as long: what was exported can be imported. */
const LINE_LIMIT_BYTES = 128 * 1024 * 1024;
const PIECE_CHARS = 256 * 1024;

const database = (): Database =>
  readVariables(v.pick(AgentVariables, ['AGENT_DATABASE_URL']), process.env).AGENT_DATABASE_URL;
const ids = createIds(systemClock, randomBytes);

// Whoever reads may leave before the end. Who writes is told of it, and that is no failure of ours to explain.
process.stdout.on('error', () => {});

const printed = (text: string): Promise<void> =>
  new Promise((settle, reject) => {
    process.stdout.write(text, (error) => (error ? reject(error) : settle()));
  });

const codeOf = (error: unknown): string => (error instanceof Error && 'code' in error ? String(error.code) : 'unknown');

/** The lines of a file, or of what comes in. What cannot be read is a `SessionProblem`. */
async function* linesIn(file: string): AsyncGenerator<string> {
  try {
    yield* documentLines(file === '-' ? process.stdin : createReadStream(file), LINE_LIMIT_BYTES);
  } catch (error) {
    if (error instanceof SessionDocumentError) throw error;
    throw new SessionDocumentError([`Cannot read the document: ${codeOf(error)}`]);
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
      await printed(piece);
      piece = '';
    }
    await printed(piece);
  } finally {
    await source.close();
  }
};

const runImport = async (file: string, hasNewIDs: boolean): Promise<void> => {
  const place = database();
  const document = await readSessionDocument(linesIn(file));
  const { store, close } = await openStoreBeside(place, { ids });
  try {
    await printed(`${await importSession({ store, ids }, document, { hasNewIDs })}\n`);
  } finally {
    await close();
  }
};

const follow = async (task: AgentTask): Promise<void> => {
  const print = (line: string): Promise<void> => printed(`${line}\n`);
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

const complaintsOf = (error: unknown): readonly string[] => {
  if (error instanceof ConfigError || error instanceof SessionDocumentError) return error.problems;
  // SQLite's own words name no value of a row; a path of the machine may stand in others.
  if (codeOf(error) === 'ERR_SQLITE_ERROR')
    return ['the database could not be read or written; is it in use or damaged?'];
  if (error instanceof StoreUnavailableError) return ['the database is away; what was done so far stays'];
  // PostgreSQL's words may quote what is stored; its code does not.
  if (error instanceof Error && error.name === 'PostgresError') return [`the database refused it (${codeOf(error)})`];
  throw error;
};

/** Runs `gatehouse agent` with arguments and answers with its exit code. Only a bug makes it reject. */
export const runAgentCommand = async (words: readonly string[]): Promise<number> => {
  if (words.some((word) => word === '--help' || word === '-h')) {
    await printed(AGENT_HELP);
    return 0;
  }
  try {
    await follow(taskFrom(words));
    return 0;
  } catch (error) {
    if (codeOf(error) === 'EPIPE') return 1;
    for (const complaint of complaintsOf(error)) process.stderr.write(`gatehouse agent: ${complaint}\n`);
    return 1;
  }
};
