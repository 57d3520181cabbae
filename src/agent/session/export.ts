import type { Session } from '../protocol/types.ts';
import type { Store } from '../store/store.ts';
import {
  DOCUMENT_FORMAT,
  DOCUMENT_VERSION,
  type DocumentContents,
  type DocumentLine,
  SessionDocumentError,
} from './document.ts';

/** What an export reads, a message at a time: nothing is held while whoever takes the document is slow. */
export type SessionSource = Pick<Store, 'session' | 'sessions' | 'messageOutlines' | 'message' | 'output'>;

const removedMeanwhile = () =>
  new SessionDocumentError(['Cannot export the session: something of it was removed meanwhile']);

/** The session and those under it. Each is in it once, whatever the store holds: a loop of parents keeps nobody here. */
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

async function* messageLines(source: SessionSource, sessionID: string, id: string): AsyncGenerator<DocumentLine> {
  const told = await source.message(sessionID, id);
  if (told === undefined) throw removedMeanwhile();
  yield { kind: 'message', message: told.info };
  for (const part of told.parts) {
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
    for (const messageID of messages) yield* messageLines(source, id, messageID);
  }
  yield { kind: 'end' };
}

/**
 * The lines of a document with a session, all that belongs to it, and the sessions under it; nothing when there is no such
 * session. Which messages are in it is settled at the beginning, and each is as it is when its turn comes.
 */
export const exportSession = async (source: SessionSource, id: string): Promise<AsyncIterable<string> | undefined> => {
  const first = await source.session(id);
  if (first === undefined) return undefined;
  const contents = await readContents(source, await readFamilyIDs(source, first));
  return (async function* () {
    for await (const line of linesFor(source, contents)) yield JSON.stringify(line);
  })();
};
