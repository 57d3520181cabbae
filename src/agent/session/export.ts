import type { Session } from '../protocol/types.ts';
import type { Store } from '../store/store.ts';
import {
  DOCUMENT_FORMAT,
  DOCUMENT_VERSION,
  type DocumentContents,
  type DocumentLine,
  SessionDocumentError,
} from './document.ts';

/** What an export reads, one message at a time: a slow reader of the document blocks no writer. */
export type SessionSource = Pick<Store, 'session' | 'sessions' | 'messageOutlines' | 'message' | 'output' | 'owed'>;

const removedMeanwhile = () =>
  new SessionDocumentError(['Cannot export the session: something of it was removed meanwhile']);

/** Ids of the session and of all below it, each once: a parent circle in the store does not loop here. */
const readFamilyIDs = async (source: SessionSource, first: Session): Promise<readonly string[]> => {
  const found = new Set([first.id]);
  for (const parentID of found) {
    for (const { id } of await source.sessions({ parentID })) found.add(id);
  }
  return [...found];
};
const readContents = async (source: SessionSource, ids: readonly string[]): Promise<DocumentContents> => {
  const sessions: DocumentContents['sessions'] = [];
  for (const id of ids) {
    const messages = await source.messageOutlines(id);
    sessions.push({ id, messages: messages.map((sized) => sized.id) });
  }
  return { format: DOCUMENT_FORMAT, version: DOCUMENT_VERSION, sessions };
};

async function* messageLines(
  source: SessionSource,
  sessionID: string,
  { id, isOwed }: { readonly id: string; readonly isOwed: boolean },
): AsyncGenerator<DocumentLine> {
  const stored = await source.message(sessionID, id);
  if (stored === undefined) throw removedMeanwhile();
  yield { kind: 'message', message: stored.info, ...(isOwed ? { isOwed } : {}) };
  for (const part of stored.parts) {
    yield { kind: 'part', part };
    const text = await source.output(sessionID, part.id);
    if (text !== undefined) yield { kind: 'output', partID: part.id, text };
  }
}

async function* linesFor(
  source: SessionSource,
  contents: DocumentContents,
): AsyncGenerator<DocumentContents | DocumentLine> {
  yield contents;
  for (const { id, messages } of contents.sessions) {
    const session = await source.session(id);
    if (session === undefined) throw removedMeanwhile();
    yield { kind: 'session', session };
    const owed = new Set((await source.owed(id)).map(({ promptID }) => promptID));
    for (const message of messages) yield* messageLines(source, id, { id: message, isOwed: owed.has(message) });
  }
  yield { kind: 'end' };
}

/**
 * The lines of a document with a session, all that belongs to it, and the sessions below it; undefined when there is no such
 * session. The list of messages is read at the beginning, and each message when its line is requested.
 */
export const exportSession = async (source: SessionSource, id: string): Promise<AsyncIterable<string> | undefined> => {
  const first = await source.session(id);
  if (first === undefined) return undefined;
  const contents = await readContents(source, await readFamilyIDs(source, first));
  return (async function* () {
    for await (const line of linesFor(source, contents)) yield JSON.stringify(line);
  })();
};
