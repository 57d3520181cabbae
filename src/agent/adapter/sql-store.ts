import { ConfigError } from '../../core/config.ts';
import type { EventDraft } from '../protocol/events.ts';
import type { PermissionDecision } from '../protocol/permissions.ts';
import type { ChainEnd, Conversation, Turn } from '../protocol/turns.ts';
import type { Message, Part, Session } from '../protocol/types.ts';
import { StoreUnavailableError } from '../store/errors.ts';
import type {
  DirectoryEvent,
  EventSpan,
  MessageHead,
  MessageOutline,
  OwedAnswer,
  SessionOutline,
  StoreChange,
} from '../store/store.ts';

// What the PostgreSQL store and the SQLite store have in common.

/** The error for a database that cannot be used. Names the variable, never its value. */
export const databaseConfigError = (reason: string): ConfigError => new ConfigError([`AGENT_DATABASE_URL: ${reason}`]);

/** The next turn of the event loop: all that waits meanwhile comes first. */
export const nextTurn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

/** A row of either database, by column names. */
export type StoredRow = Readonly<Record<string, unknown>>;

/** A text column of a row. Throws when it holds anything else. */
export const columnText = (row: StoredRow | undefined, column: string): string => {
  const text = row?.[column];
  if (typeof text !== 'string') throw new Error(`Cannot read a row of the store: ${column} is no text`);
  return text;
};

/** A number column of a row: PostgreSQL's driver returns numbers as text. */
const columnNumber = (row: StoredRow, column: string): number => {
  const number = typeof row[column] === 'string' ? Number(row[column]) : row[column];
  if (typeof number !== 'number') throw new Error(`Cannot read a row of the store: ${column} is no number`);
  return number;
};

/** The JSON of a column. Only the store writes it, so its shape is not checked, and other text is damage. Errors do not quote it. */
const parseColumn = (row: StoredRow, column: string) => {
  try {
    return JSON.parse(columnText(row, column));
  } catch {
    throw new StoreUnavailableError('damaged');
  }
};

export const rowToSession = (row: StoredRow): Session => parseColumn(row, 'data');
export const rowToMessage = (row: StoredRow): Message => parseColumn(row, 'data');
/** A part from the column in which the query returns it. */
export const rowToPart = (row: StoredRow, column: string): Part => parseColumn(row, column);
export const rowToOutput = (row: StoredRow): string => parseColumn(row, 'data');

const rowToEventDraft = (row: StoredRow): EventDraft => parseColumn(row, 'data');
export const rowToEvent = (row: StoredRow): DirectoryEvent => ({
  directory: parseColumn(row, 'directory'),
  event: { ...rowToEventDraft(row), id: columnText(row, 'id') },
});
/** Is in the data of each session that waits for results of client tools. An index of its own finds those. */
export const AWAITING = '"awaitedCalls":{';
/** Sessions among rows: the same text may be in the metadata of others. */
export const rowsToAwaitingSessions = (rows: readonly StoredRow[]): readonly Session[] =>
  rows.map(rowToSession).filter(({ awaitedCalls }) => awaitedCalls !== undefined);
/** Is in the data of each event of a permission request, and hardly in that of others: a text would have it with backslashes. */
export const PERMISSION_TYPE = '"type":"permission.';
/** Whether an event is one of a permission request. */
export const isPermissionEvent = ({ event }: DirectoryEvent): boolean => event.type.startsWith('permission.');
export const rowToEventSpan = (row: StoredRow | undefined): EventSpan => ({
  oldest: columnText(row, 'oldest'),
  forgotten: columnText(row, 'forgotten'),
  newest: columnText(row, 'newest'),
});

export const rowToDecision = (row: StoredRow): PermissionDecision => parseColumn(row, 'data');

export const rowToTurn = (row: StoredRow): Turn => parseColumn(row, 'data');
export const rowToConversation = (row: StoredRow): Conversation => parseColumn(row, 'data');
export const rowToChainEnd = (row: StoredRow): ChainEnd => ({
  digest: columnText(row, 'end_digest'),
  sessionID: columnText(row, 'session_id'),
  turnID: columnText(row, 'id'),
  promptID: columnText(row, 'prompt_id'),
});

export const rowToSessionOutline = (row: StoredRow): SessionOutline => ({
  id: columnText(row, 'id'),
  ...(row.parent_id === null ? {} : { parentID: columnText(row, 'parent_id') }),
  updatedMs: columnNumber(row, 'updated'),
});
export const rowToSizedMessage = (row: StoredRow): MessageOutline => ({
  id: columnText(row, 'id'),
  bytes: columnNumber(row, 'bytes'),
});

export const rowToMessageHead = (row: StoredRow): MessageHead => ({
  info: rowToMessage(row),
  bytes: columnNumber(row, 'bytes'),
});

/** SQLite has no boolean, and stores 1 for true. */
export const rowToOwedAnswer = (row: StoredRow): OwedAnswer => ({
  sessionID: columnText(row, 'session_id'),
  promptID: columnText(row, 'message_id'),
  isBegun: row.is_begun === true || row.is_begun === 1,
});

type GrowingPart = { readonly part: Part; readonly writtenMs: number };

/** A filter for the parts that a change removes; undefined when it removes none. */
const removedParts = (change: StoreChange): ((part: Part) => boolean) | undefined => {
  switch (change.kind) {
    case 'session-removed':
      return (part) => part.sessionID === change.sessionID;
    case 'session-begun':
      return (part) => part.sessionID === change.session.id;
    case 'messages-removed':
      return (part) => part.sessionID === change.sessionID && change.messageIDs.includes(part.messageID);
    case 'parts-removed':
      return (part) => part.sessionID === change.sessionID && change.partIDs.includes(part.id);
    default:
      return undefined;
  }
};

/**
 * The newest state of parts that still grow. A part changes dozens of times a second, so most of these writes are deferred:
 * the stored state is at most `everyMs` old. Holds no timer: the change that completes a part writes it.
 */
export const createGrowingParts = (nowMs: () => number, everyMs: number) => {
  const growing = new Map<string, GrowingPart>();
  const forget = (isGone: (part: Part) => boolean): void => {
    for (const [id, { part }] of growing) if (isGone(part)) growing.delete(id);
  };
  const wasWrittenRecently = ({ id }: Part): boolean => {
    const held = growing.get(id);
    return held !== undefined && nowMs() - held.writtenMs < everyMs;
  };
  return {
    /** Whether a change need not be written now. */
    isDeferred: (change: StoreChange): boolean =>
      change.kind === 'part' && change.isGrowing === true && wasWrittenRecently(change.part),
    /** Records committed changes. All but the `deferred` ones were written. */
    record(changes: readonly StoreChange[], deferred: ReadonlySet<StoreChange>): void {
      for (const change of changes) {
        const isGone = removedParts(change);
        if (isGone !== undefined) forget(isGone);
        if (change.kind !== 'part') continue;
        const { part, isGrowing } = change;
        const writtenMs = deferred.has(change) ? growing.get(part.id)?.writtenMs : nowMs();
        if (isGrowing === true && writtenMs !== undefined) growing.set(part.id, { part, writtenMs });
        else growing.delete(part.id);
      }
    },
    /** The newest state of a stored part. */
    newest: (part: Part): Part => growing.get(part.id)?.part ?? part,
    /** The newest state of all parts that still grow. */
    parts: (): readonly Part[] => [...growing.values()].map(({ part }) => part),
  };
};
