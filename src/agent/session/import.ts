import type { Ids } from '../protocol/ids.ts';
import type { Message, Session } from '../protocol/types.ts';
import { OrphanError } from '../store/errors.ts';
import type { Store, StoreChange } from '../store/store.ts';
import { endPart, withoutAwaitedCalls } from './awaited-calls.ts';
import { type DocumentRecord, type SessionDocument, SessionDocumentError } from './document.ts';

import { createIDReplacement } from './new-ids.ts';

/** What `importSession` works with. */
type ImportNeeds = {
  readonly store: Pick<Store, 'session' | 'commit'>;
  readonly ids: Ids;
};

const NEW_IDS_HINT = 'a copy with new ids can be imported instead (--new-ids)';

/** The first session loses a parent that the store does not have. */
const withKnownParent = async ({ store }: ImportNeeds, session: Session): Promise<Session> => {
  const { parentID, ...alone } = session;
  return parentID === undefined || (await store.session(parentID)) !== undefined ? session : alone;
};

const requireFreeIDs = async ({ store }: ImportNeeds, { contents }: SessionDocument): Promise<void> => {
  const problems: string[] = [];
  for (const [index, { id }] of contents.sessions.entries()) {
    if ((await store.session(id)) !== undefined) problems.push(`sessions[${index}]: its id is taken; ${NEW_IDS_HINT}`);
  }
  if (problems.length > 0) throw new SessionDocumentError(problems);
};

/**
 * A prompt whose answer is owed counts as begun: the server that it comes from may run it, and it must not be run twice. So
 * it is ended with an error.
 */
const messageChanges = ({ message, isOwed }: Extract<DocumentRecord, { kind: 'message' }>): readonly StoreChange[] => [
  { kind: 'message', message },
  ...(isOwed === true
    ? [{ kind: 'answer' as const, sessionID: message.sessionID, promptID: message.id, state: 'begun' as const }]
    : []),
];

/** When a message was complete; undefined for an answer that never was, which a server ends with its parts. */
const completedAt = (message: Message): number | undefined =>
  message.role === 'user' ? message.time.created : message.time.completed;

/** Turns the records of a document into changes, in the document's order. */
const createChanges = (needs: ImportNeeds) => {
  let sessionID: string | undefined;
  let completedMs: number | undefined;
  return async (record: DocumentRecord): Promise<readonly StoreChange[]> => {
    if (record.kind === 'output') return [{ ...record, sessionID: sessionID ?? '' }];
    if (record.kind === 'message') {
      completedMs = completedAt(record.message);
      return messageChanges(record);
    }
    // A call of a message that is complete is not running anywhere, and nothing would ever end it.
    if (record.kind === 'part' && record.part.type === 'tool' && completedMs !== undefined)
      return [{ kind: 'part', part: endPart(record.part, completedMs) ?? record.part }];
    if (record.kind !== 'session') return [record];
    const isFirst = sessionID === undefined;
    sessionID = record.session.id;
    // Its calls are ended, as any of a complete message.
    const own = withoutAwaitedCalls(record.session);
    const session = isFirst ? await withKnownParent(needs, own) : own;
    return [{ kind: 'session-begun', session }];
  };
};

const toCreatedEvent = (info: Session) => ({
  directory: info.directory,
  draft: { type: 'session.created' as const, properties: { sessionID: info.id, info } },
});

/**
 * Stores the sessions of a document, all or none, and returns the id of the first. It writes in small commits, so that a
 * server on the same store can go on; no query returns the sessions before they are complete. Unfinished answers stay
 * unfinished, and answers that are owed stay owed, until a server starts and ends them. A `SessionDocumentError` says what is wrong with the document, or that
 * ids are taken.
 */
export const importSession = async (
  needs: ImportNeeds,
  document: SessionDocument,
  { hasNewIDs }: { readonly hasNewIDs: boolean },
): Promise<string> => {
  const { store, ids } = needs;
  if (!hasNewIDs) await requireFreeIDs(needs, document);
  const replaceIDs = hasNewIDs ? createIDReplacement(document.contents, ids) : (record: DocumentRecord) => record;
  const changeOf = createChanges(needs);
  const sessions: Session[] = [];
  try {
    for await (const group of document.records) {
      const changes: StoreChange[] = [];
      for (const record of group) changes.push(...(await changeOf(replaceIDs(record))));
      await store.commit(changes, []);
      for (const change of changes) if (change.kind === 'session-begun') sessions.push(change.session);
    }
    await store.commit(
      sessions.map((session) => ({ kind: 'session', session })),
      sessions.map(toCreatedEvent),
    );
  } catch (error) {
    // Should this fail as well: what is left is hidden, and pruned later.
    const givenUp = sessions.map(({ id }) => ({ kind: 'session-given-up' as const, sessionID: id }));
    await store.commit(givenUp, []).catch(() => {});
    if (!(error instanceof OrphanError)) throw error;
    throw new SessionDocumentError([`the id of a ${error.kind} in it is taken; ${NEW_IDS_HINT}`]);
  }
  return sessions[0]?.id ?? '';
};
