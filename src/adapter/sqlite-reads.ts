import type { Message } from '../agent/message.ts';
import type { Session } from '../agent/session.ts';
import type { EventsAsked, MessagesAsked, PlacedEvent, SessionsAsked, Told } from '../agent/store.ts';
import { foldedTitle } from '../agent/title-search.ts';
import {
  directoryIn,
  draftIn,
  messageIn,
  outputIn,
  partIn,
  type Statements,
  sessionIn,
  textIn,
} from './sqlite-rows.ts';

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

const PARTS = `
  SELECT part.message_id, part.data FROM message JOIN part ON part.message_id = message.id
  WHERE message.session_id = ? AND message.id BETWEEN ? AND ? ORDER BY part.message_id, part.id`;

export type SqliteReads = {
  readonly session: (id: string) => Session | undefined;
  readonly sessions: (asked: SessionsAsked) => readonly Session[];
  readonly messages: (sessionID: string, asked: MessagesAsked) => readonly Told[];
  readonly message: (sessionID: string, messageID: string) => Told | undefined;
  readonly output: (sessionID: string, partID: string) => string | undefined;
  readonly unfinished: () => readonly Told[];
  readonly events: (asked: EventsAsked) => readonly PlacedEvent[];
};

/** What reads the database. Those that ask more than once want a transaction around them, which the caller holds. */
export const createSqliteReads = (statement: Statements): SqliteReads => {
  /** The messages stand in the order of their ids, and none of their session is left out between two of them. */
  const withParts = (infos: readonly Message[]): readonly Told[] => {
    const [first, last] = [infos.at(0), infos.at(-1)];
    if (first === undefined || last === undefined) return [];
    const rows = statement(PARTS).all(first.sessionID, first.id, last.id);
    const partsOf = Map.groupBy(rows, (row) => textIn(row, 'message_id'));
    return infos.map((info) => ({ info, parts: (partsOf.get(info.id) ?? []).map(partIn) }));
  };
  return {
    session(id) {
      const row = statement('SELECT data FROM session WHERE id = ?').get(id);
      return row === undefined ? undefined : sessionIn(row);
    },
    sessions({ directory, parentID, areRoots, search, updatedSince, limit }) {
      const { where, values } = wanted([
        ['directory = ?', asJson(directory)],
        ['parent_id = ?', parentID],
        ['(parent_id IS NULL) = ?', areRoots === true ? 1 : undefined],
        ['instr(folded_title, ?) > 0', search === undefined ? undefined : foldedTitle(search)],
        ['updated >= ?', updatedSince],
      ]);
      const sql = `SELECT data FROM session${where} ORDER BY updated DESC, id LIMIT ?`;
      return statement(sql)
        .all(...values, limitOf(limit))
        .map(sessionIn);
    },
    messages(sessionID, { limit, beforeID }) {
      const { where, values } = wanted([
        ['session_id = ?', sessionID],
        ['id < ?', beforeID],
      ]);
      const sql = `SELECT data FROM message${where} ORDER BY id DESC LIMIT ?`;
      const newestFirst = statement(sql).all(...values, limitOf(limit));
      return withParts(newestFirst.map(messageIn).reverse());
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
      statement('SELECT data FROM message WHERE is_unfinished = 1 ORDER BY id')
        .all()
        .flatMap((row) => withParts([messageIn(row)])),
    events({ afterID, directory, limit }) {
      const { where, values } = wanted([
        ['id > ?', afterID],
        ['directory = ?', asJson(directory)],
      ]);
      return statement(`SELECT id, directory, data FROM event${where} ORDER BY id LIMIT ?`)
        .all(...values, limit)
        .map((row) => ({ directory: directoryIn(row), event: { ...draftIn(row), id: textIn(row, 'id') } }));
    },
  };
};
