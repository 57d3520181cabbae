import { type EventDraft, sessionIDOf } from '../../protocol/events.ts';
import { isUnfinished, type Session } from '../../protocol/types.ts';
import { foldTitle, type LeaseRequest, type StoreChange } from '../../store/store.ts';
import { serializeTurnChange } from './queries/turns.ts';

/** An event before it has an id. */
type DraftEvent = { readonly directory: string; readonly draft: EventDraft };
/** What one commit of the store stores. */
export type CommitTask = {
  readonly changes: readonly StoreChange[];
  /** Parts that still grow and need not be written yet: the database only checks that they exist. */
  readonly deferred: ReadonlySet<StoreChange>;
  readonly events: readonly DraftEvent[];
  /** The commit is refused unless this lease is still held. */
  readonly leaseID: string | undefined;
  /** Its ticket is taken with the commit. */
  readonly leaseRequest?: LeaseRequest | undefined;
};

const sessionColumns = (session: Session) => ({
  id: session.id,
  directory: JSON.stringify(session.directory),
  parent: session.parentID,
  title: foldTitle(session.title),
  updated: session.time.updated,
  data: JSON.stringify(session),
});

/** A change as `commit_group` in the database takes it. */
const serializeChange = (change: StoreChange, isDeferred: boolean): Readonly<Record<string, unknown>> => {
  const { kind } = change;
  switch (kind) {
    case 'session': {
      const { session, before } = change;
      return { kind, ...sessionColumns(session), before: before && JSON.stringify(before) };
    }
    case 'session-begun':
      return { kind, ...sessionColumns(change.session) };
    case 'session-given-up':
    case 'session-removed':
      return { kind, id: change.sessionID };
    case 'message': {
      const { message } = change;
      const { id, sessionID: session } = message;
      return { kind, id, session, unfinished: isUnfinished(message), data: JSON.stringify(message) };
    }
    case 'messages-removed':
      return { kind, session: change.sessionID, ids: change.messageIDs };
    case 'parts-removed':
      return { kind, session: change.sessionID, ids: change.partIDs };
    case 'part': {
      const { id, messageID: message, sessionID: session } = change.part;
      if (isDeferred) return { kind: 'part-still', id, message, session };
      return { kind, id, message, session, data: JSON.stringify(change.part) };
    }
    case 'output':
      return { kind, id: change.partID, session: change.sessionID, data: JSON.stringify(change.text) };
    case 'answer':
      return { kind, id: change.promptID, session: change.sessionID, state: change.state };
    default:
      return serializeTurnChange(change);
  }
};

/** What a change is of: its session, or its conversation. */
const changedID = (change: StoreChange): string => {
  switch (change.kind) {
    case 'session':
    case 'session-begun':
      return change.session.id;
    case 'message':
      return change.message.sessionID;
    case 'part':
      return change.part.sessionID;
    case 'conversation':
      return change.conversation.id;
    case 'conversation-removed':
      return change.conversationID;
    case 'turn':
      return change.turn.conversationID;
    case 'turn-removed':
      return change.turnID;
    case 'chain':
      return change.end.turnID;
    default:
      return change.sessionID;
  }
};

/** The last task of the group that removes a session, by session id. */
const removalsIn = (tasks: readonly CommitTask[]): ReadonlyMap<string, number> =>
  new Map(
    tasks.flatMap(({ changes }, task) =>
      changes.flatMap((change) => (change.kind === 'session-removed' ? [[change.sessionID, task] as const] : [])),
    ),
  );
/** Events for the database. One that a later task of the group removes with its session keeps its place and is not stored. */
const serializeEvents = (tasks: readonly CommitTask[]): readonly object[] => {
  const removals = removalsIn(tasks);
  return tasks.flatMap(({ events }, task) =>
    events.map(({ directory, draft }) => {
      const session = sessionIDOf(draft);
      if (session !== undefined && (removals.get(session) ?? task) > task) return {};
      return { session, directory: JSON.stringify(directory), data: JSON.stringify(draft) };
    }),
  );
};

/** A group of commits as JSON for `commit_group` in the database. Throws a `RangeError` where that is longer than a text can be. */
export const serializeGroup = (tasks: readonly CommitTask[]) => ({
  sessions: JSON.stringify([...new Set(tasks.flatMap(({ changes }) => changes.map(changedID)))]),
  steps: JSON.stringify(
    tasks.flatMap(({ changes, deferred, leaseID, leaseRequest }, task) => [
      ...(leaseID === undefined ? [] : [{ task, kind: 'lease', id: leaseID }]),
      ...changes.map((change) => ({ task, ...serializeChange(change, deferred.has(change)) })),
      ...(leaseRequest === undefined ? [] : [{ task, kind: 'ticket', session: leaseRequest.sessionID }]),
    ]),
  ),
  drafts: JSON.stringify(serializeEvents(tasks)),
});
