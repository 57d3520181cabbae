import { visibleLines } from '../../core/text.ts';
import type { Session } from '../protocol/types.ts';
import type { Store } from '../store/store.ts';
import type { SessionSource } from './export.ts';

/** A session as an operator sees it in a list. Texts are cut, and contain no terminal control characters. */
export type ListedSession = {
  readonly id: string;
  readonly updated: string;
  readonly messages: number;
  readonly bytes: number;
  readonly agent: string | null;
  readonly parentID: string | null;
  readonly title: string;
};

const TITLE_CHARS = 200;
const NAME_CHARS = 100;

const toSingleLine = (text: string, limitChars: number): string => visibleLines(text, limitChars).replace(/\s+/g, ' ');
const shownIfThere = (text: string | undefined): string | null =>
  text === undefined ? null : toSingleLine(text, NAME_CHARS);

/** A time in ISO 8601 without fractions of a second; the number itself where no date has it. */
export const formatTime = (ms: number): string => {
  const time = new Date(ms);
  return Number.isNaN(time.getTime()) ? String(ms) : time.toISOString().replace(/\.\d+Z$/, 'Z');
};

const toListedSession = async (
  source: Pick<SessionSource, 'messageOutlines'>,
  session: Session,
): Promise<ListedSession> => {
  const messages = await source.messageOutlines(session.id);
  return {
    id: toSingleLine(session.id, NAME_CHARS),
    updated: formatTime(session.time.updated),
    messages: messages.length,
    bytes: messages.reduce((sum, { bytes }) => sum + bytes, 0),
    agent: shownIfThere(session.agent),
    parentID: shownIfThere(session.parentID),
    title: toSingleLine(session.title, TITLE_CHARS),
  };
};

/** The sessions of a store, latest update first. */
export async function* listSessions(
  source: Pick<SessionSource, 'sessions' | 'messageOutlines'>,
  limit: number,
): AsyncGenerator<ListedSession> {
  for (const session of await source.sessions({ limit })) yield await toListedSession(source, session);
}

const ROW_TITLE_CHARS = 60;
const WIDTHS = [30, 20, 8, 11, 12, 30] as const;

const formatRow = (cells: readonly (string | number)[]): string =>
  cells
    .map((cell, column) => {
      const width = WIDTHS[column] ?? 0;
      return typeof cell === 'number' ? String(cell).padStart(width) : cell.padEnd(width);
    })
    .join('  ')
    .trimEnd();

/** The heading of the table. */
export const LIST_HEADER = formatRow(['SESSION', 'UPDATED', 'MESSAGES', '      BYTES', 'AGENT', 'PARENT', 'TITLE']);

/** A session as a line of a table. */
export const formatListRow = ({ id, updated, messages, bytes, agent, parentID, title }: ListedSession): string =>
  formatRow([id, updated, messages, bytes, agent ?? '-', parentID ?? '-', visibleLines(title, ROW_TITLE_CHARS)]);

/** What commands read of a store while servers work on it. */
export type SessionReader = SessionSource &
  Pick<Store, 'sessionOutlines' | 'unfinished' | 'owed'> & {
    /** Those of the given sessions that a server works on, as far as the store knows. */
    readonly busy: (sessionIDs: readonly string[]) => Promise<readonly string[]>;
    readonly close: () => Promise<void>;
  };
