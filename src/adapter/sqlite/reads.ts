import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { Message, Part, Session } from '../../agent/protocol/types.ts';
import { foldedTitle } from '../../agent/session/title-search.ts';
import type {
  EventSpan,
  EventsAsked,
  MessagesAsked,
  PlacedEvent,
  SessionOutline,
  SessionsAsked,
  Sized,
  Told,
} from '../../agent/store/store.ts';
import { directoryIn, draftIn, messageIn, outputIn, partIn, type Row, sessionIn, textIn } from '../stored-rows.ts';

/** Statements of one database, each prepared once. */
export type Statements = (sql: string) => StatementSync;

export const createStatements = (database: DatabaseSync): Statements => {
  const prepared = new Map<string, StatementSync>();
  return (sql) => {
    const known = prepared.get(sql) ?? database.prepare(sql);
    prepared.set(sql, known);
    return known;
  };
};

/** A number of a row. */
export const numberIn = (row: Row, column: string): number => {
  const number = row[column];
  if (typeof number !== 'number') throw new Error(`Cannot read a row of the store: ${column} is no number`);
  return number;
};

export const sessionOutlineIn = (row: Row): SessionOutline => ({
  id: textIn(row, 'id'),
  ...(row.parent_id === null ? {} : { parentID: textIn(row, 'parent_id') }),
  updatedMs: numberIn(row, 'updated'),
});

/** A condition with its value; those without a value are left out. */
type Condition = readonly [sql: string, value: string | number | undefined];

const wanted = (conditions: readonly Condition[]) => {
  const given = conditions.flatMap(([sql, value]) => (value === undefined ? [] : [{ sql, value }]));
  return {
    where: given.length === 0 ? '' : ` WHERE ${given.map(({ sql }) => sql).join(' AND ')}`,
    values: given.map(({ value }) => value),
  };
};
/** SQLite takes a negative limit as none. */
const limitOf = (limit: number | undefined): number => limit ?? -1;
const asJson = (text: string | undefined): string | undefined =>
  text === undefined ? undefined : JSON.stringify(text);

const byID = (left: Part, right: Part): number => (left.id < right.id ? -1 : 1);

const SESSION_OUTLINES = 'SELECT id, parent_id, updated FROM session WHERE is_hidden = 0 ORDER BY updated DESC, id';
const OUTLINE = (where: string) => `
  SELECT message.id, octet_length(message.data) + coalesce(sum(octet_length(part.data)), 0) AS bytes
  FROM message LEFT JOIN part ON part.message_id = message.id${where}
  GROUP BY message.id ORDER BY message.id DESC LIMIT ?`;
const UNFINISHED = `
  SELECT message.data FROM message JOIN session ON session.id = message.session_id
  WHERE message.is_unfinished = 1 AND session.is_hidden = 0 ORDER BY message.id`;
const EVENT_SPAN = `
  SELECT coalesce((SELECT min(id) FROM event), '') AS oldest, forgotten,
    max(newest, coalesce((SELECT max(id) FROM event), '')) AS newest FROM event_mark`;
/** In no order that could be relied on: SQLite would copy all that they hold to put them into one. */
const PARTS = `
  SELECT part.message_id, part.data FROM message JOIN part ON part.message_id = message.id
  WHERE message.session_id = ? AND message.id BETWEEN ? AND ?`;

export type SqliteReads = {
  readonly session: (id: string) => Session | undefined;
  readonly sessions: (asked: SessionsAsked) => readonly Session[];
  readonly sessionOutlines: () => readonly SessionOutline[];
  /** Messages by their ids and sizes. No part is read for it. */
  readonly outline: (sessionID: string, asked: MessagesAsked) => readonly Sized[];
  /** Messages of a session from one to another, both among them. */
  readonly span: (sessionID: string, firstID: string, lastID: string) => readonly Told[];
  readonly message: (sessionID: string, messageID: string) => Told | undefined;
  readonly output: (sessionID: string, partID: string) => string | undefined;
  readonly unfinished: () => readonly Told[];
  readonly events: (asked: EventsAsked) => readonly PlacedEvent[];
  readonly eventSpan: () => EventSpan;
};

/** What is newer of a part than the database has it: the part itself where there is nothing. */
export type Newest = (part: Part) => Part;

/** What reads the database. Those that ask more than once want a transaction around them, which the caller holds. */
export const createSqliteReads = (statement: Statements, newest: Newest = (part) => part): SqliteReads => {
  /** The messages stand in the order of their ids, and none of their session is left out between two of them. */
  const withParts = (infos: readonly Message[]): readonly Told[] => {
    const [first, last] = [infos.at(0), infos.at(-1)];
    if (first === undefined || last === undefined) return [];
    const rows = statement(PARTS).all(first.sessionID, first.id, last.id);
    const partsOf = Map.groupBy(rows, (row) => textIn(row, 'message_id'));
    return infos.map((info) => ({
      info,
      parts: (partsOf.get(info.id) ?? []).map((row) => newest(partIn(row, 'data'))).sort(byID),
    }));
  };
  return {
    session(id) {
      const row = statement('SELECT data FROM session WHERE id = ? AND is_hidden = 0').get(id);
      return row === undefined ? undefined : sessionIn(row);
    },
    sessions({ directory, parentID, areRoots, search, updatedSince, limit }) {
      const { where, values } = wanted([
        ['directory = ?', asJson(directory)],
        ['parent_id = ?', parentID],
        ['(parent_id IS NULL) = ?', areRoots === true ? 1 : undefined],
        ['instr(folded_title, ?) > 0', search === undefined ? undefined : foldedTitle(search)],
        ['updated >= ?', updatedSince],
        ['is_hidden = ?', 0],
      ]);
      const sql = `SELECT data FROM session${where} ORDER BY updated DESC, id LIMIT ?`;
      return statement(sql)
        .all(...values, limitOf(limit))
        .map(sessionIn);
    },
    sessionOutlines: () => statement(SESSION_OUTLINES).all().map(sessionOutlineIn),
    outline(sessionID, { limit, beforeID }) {
      const { where, values } = wanted([
        ['message.session_id = ?', sessionID],
        ['message.id < ?', beforeID],
      ]);
      return statement(OUTLINE(where))
        .all(...values, limitOf(limit))
        .map((row) => ({ id: textIn(row, 'id'), bytes: numberIn(row, 'bytes') }))
        .reverse();
    },
    span(sessionID, firstID, lastID) {
      const rows = statement('SELECT data FROM message WHERE session_id = ? AND id BETWEEN ? AND ? ORDER BY id');
      return withParts(rows.all(sessionID, firstID, lastID).map(messageIn));
    },
    message(sessionID, messageID) {
      const row = statement('SELECT data FROM message WHERE id = ? AND session_id = ?').get(messageID, sessionID);
      return row === undefined ? undefined : withParts([messageIn(row)])[0];
    },
    output(sessionID, partID) {
      const row = statement('SELECT data FROM output WHERE part_id = ? AND session_id = ?').get(partID, sessionID);
      return row === undefined ? undefined : outputIn(row);
    },
    unfinished: () =>
      statement(UNFINISHED)
        .all()
        .flatMap((row) => withParts([messageIn(row)])),
    events({ afterID, directory, limit, limitBytes = Number.POSITIVE_INFINITY }) {
      const { where, values } = wanted([
        ['id > ?', afterID],
        ['directory = ?', asJson(directory)],
      ]);
      const page: PlacedEvent[] = [];
      let bytes = 0;
      // Row by row: one that is not wanted any more is not even read.
      const rows = statement(`SELECT id, directory, data FROM event${where} ORDER BY id LIMIT ?`);
      for (const row of rows.iterate(...values, limit)) {
        page.push({ directory: directoryIn(row), event: { ...draftIn(row), id: textIn(row, 'id') } });
        bytes += textIn(row, 'data').length;
        if (bytes >= limitBytes) break;
      }
      return page;
    },
    eventSpan() {
      const row = statement(EVENT_SPAN).get() ?? {};
      return { oldest: textIn(row, 'oldest'), forgotten: textIn(row, 'forgotten'), newest: textIn(row, 'newest') };
    },
  };
};
