import { LeaseLost } from '../agent/lease-lost.ts';
import { type EventDraft, sessionIDOf } from '../agent/protocol/events.ts';
import type { Ids } from '../agent/protocol/ids.ts';
import { foldedTitle } from '../agent/session/title-search.ts';
import type { Session } from '../agent/session.ts';
import { StaleError } from '../agent/stale-error.ts';
import { OrphanError } from '../agent/store/errors.ts';
import type { Change, PlacedEvent } from '../agent/store/store.ts';
import { isUnfinished } from '../agent/unfinished.ts';

/** One commit as it is asked for. */
export type Draft = { readonly directory: string; readonly draft: EventDraft };
export type Task = {
  readonly changes: readonly Change[];
  /** Parts that grow and need not be written yet: they are only looked for. */
  readonly spared: ReadonlySet<Change>;
  readonly events: readonly Draft[];
  /** The lease that it is only kept under. */
  readonly under: string | undefined;
};

const sessionColumns = (session: Session) => ({
  id: session.id,
  directory: JSON.stringify(session.directory),
  parent: session.parentID,
  title: foldedTitle(session.title),
  updated: session.time.updated,
  data: JSON.stringify(session),
});

/** A change in the words of the database's own function. */
const rowOf = (change: Change, isSpared: boolean): Readonly<Record<string, unknown>> => {
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
      if (isSpared) return { kind: 'part-still', id, message, session };
      return { kind, id, message, session, data: JSON.stringify(change.part) };
    }
    case 'output':
      return { kind, id: change.partID, session: change.sessionID, data: JSON.stringify(change.text) };
    default:
      return change satisfies never;
  }
};

/** A task as the database's function takes it. */
export const writtenTask = ({ changes, spared, events, under }: Task, ids: Ids): unknown => ({
  under,
  changes: changes.map((change) => rowOf(change, spared.has(change))),
  events: events.map(({ directory, draft }) => ({
    id: ids('event'),
    session: sessionIDOf(draft),
    directory: JSON.stringify(directory),
    data: JSON.stringify(draft),
  })),
});

type Answer = readonly string[] | { readonly refused: string };
/** What the database's function answers: the newest event before, and what became of each task. */
export type Answered = { readonly after: string; readonly tasks: readonly Answer[] };

const KINDS = ['session', 'message', 'part', 'output'] as const;

/** Why a task was refused, as an error. */
const refusalOf = (refused: string): Error => {
  if (refused === 'stale') return new StaleError();
  if (refused === 'lease') return new LeaseLost();
  const kind = KINDS.find((one) => one === refused);
  return kind === undefined ? new Error('Cannot read what the store has answered') : new OrphanError(kind);
};

/** The events of a task under their ids, or why there are none. */
export const outcomeOf = ({ events }: Task, answer: Answer | undefined): readonly PlacedEvent[] | Error => {
  if (answer === undefined) return new Error('Cannot read what the store has answered');
  if ('refused' in answer) return refusalOf(answer.refused);
  return events.map(
    ({ directory, draft }, place): PlacedEvent => ({
      directory,
      event: { ...draft, id: answer[place] ?? '' },
    }),
  );
};
