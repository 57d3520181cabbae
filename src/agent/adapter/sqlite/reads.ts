import type { PermissionDecision } from '../../protocol/permissions.ts';
import type { Message, Part, Session } from '../../protocol/types.ts';
import {
  type DecisionQuery,
  type DirectoryEvent,
  type EventQuery,
  type EventSpan,
  foldTitle,
  type MessageHead,
  type MessageOutline,
  type MessageQuery,
  type MessageWithParts,
  type OwedAnswer,
  type SessionOutline,
  type SessionQuery,
} from '../../store/store.ts';
import {
  AWAITING,
  columnText,
  isPermissionEvent,
  PERMISSION_TYPE,
  rowsToAwaitingSessions,
  rowToDecision,
  rowToEvent,
  rowToEventSpan,
  rowToMessage,
  rowToMessageHead,
  rowToOutput,
  rowToOwedAnswer,
  rowToPart,
  rowToSession,
  rowToSessionOutline,
  rowToSizedMessage,
} from '../sql-store.ts';
import type { Statements } from './database.ts';

/** A condition with its values. Conditions without a value are left out of the WHERE clause. */
type Condition = readonly [sql: string, ...values: readonly (string | number | undefined)[]];

const buildWhere = (conditions: readonly Condition[]) => {
  const given = conditions.flatMap(([sql, ...all]) => {
    const values = all.filter((value) => value !== undefined);
    return values.length === 0 ? [] : [{ sql, values }];
  });
  return {
    where: given.length === 0 ? '' : ` WHERE ${given.map(({ sql }) => sql).join(' AND ')}`,
    values: given.flatMap(({ values }) => values),
  };
};
const whereMessages = (sessionID: string, { beforeID, fromID }: MessageQuery) =>
  buildWhere([
    ['message.session_id = ?', sessionID],
    ['message.id < ?', beforeID],
    ['message.id >= ?', fromID],
  ]);
/** A negative limit means none to SQLite. */
const limitOf = (limit: number | undefined): number => limit ?? -1;
const asJson = (text: string | undefined): string | undefined =>
  text === undefined ? undefined : JSON.stringify(text);

const byID = (left: Part, right: Part): number => (left.id < right.id ? -1 : 1);

const SESSIONS_BY_ID = 'SELECT data FROM session WHERE id IN (SELECT value FROM json_each(?)) AND is_hidden = 0';
const SESSION_OUTLINES = 'SELECT id, parent_id, updated FROM session WHERE is_hidden = 0 ORDER BY updated DESC, id';
/** The condition is that of the index, letter by letter. */
const AWAITING_SESSIONS = `SELECT data FROM session WHERE instr(data, '${AWAITING}') > 0 AND is_hidden = 0`;
const OUTLINE = (where: string) => `
  SELECT message.id, octet_length(message.data) + coalesce(sum(octet_length(part.data)), 0) AS bytes
  FROM message LEFT JOIN part ON part.message_id = message.id${where}
  GROUP BY message.id ORDER BY message.id DESC LIMIT ?`;
/** Sized one by one, so that no more messages are looked at than are asked for. */
const HEADS = (where: string) => `
  SELECT message.data, octet_length(message.data) + coalesce((
    SELECT sum(octet_length(part.data)) FROM part WHERE part.message_id = message.id
  ), 0) AS bytes FROM message${where} ORDER BY message.id DESC LIMIT ?`;
const UNFINISHED = `
  SELECT message.data FROM message JOIN session ON session.id = message.session_id
  WHERE message.is_unfinished = 1 AND session.is_hidden = 0 ORDER BY message.id`;
/** The order of `rowid` is that of the commits. */
const OWED = (where: string) => `
  SELECT owed.session_id, owed.message_id, owed.is_begun FROM owed JOIN session ON session.id = owed.session_id${where}
  ORDER BY owed.rowid`;
const EVENT_SPAN = `
  SELECT coalesce((SELECT min(id) FROM event), '') AS oldest, forgotten,
    max(newest, coalesce((SELECT max(id) FROM event), '')) AS newest FROM event_mark`;
/** Without ORDER BY: SQLite would copy all the data to sort it. */
const PARTS = `
  SELECT part.message_id, part.data FROM message JOIN part ON part.message_id = message.id
  WHERE message.session_id = ? AND message.id BETWEEN ? AND ?`;

type SqliteReads = {
  readonly session: (id: string) => Session | undefined;
  readonly sessions: (selection: SessionQuery) => readonly Session[];
  readonly sessionOutlines: () => readonly SessionOutline[];
  readonly sessionsByID: (ids: readonly string[]) => readonly Session[];
  readonly awaitingSessions: () => readonly Session[];
  /** Ids and sizes of messages. Reads no parts. */
  readonly outline: (sessionID: string, selection: MessageQuery) => readonly MessageOutline[];
  readonly heads: (sessionID: string, selection: MessageQuery) => readonly MessageHead[];
  /** The messages of a session from one id to another, both included. */
  readonly range: (sessionID: string, firstID: string, lastID: string) => readonly MessageWithParts[];
  readonly message: (sessionID: string, messageID: string) => MessageWithParts | undefined;
  readonly output: (sessionID: string, partID: string) => string | undefined;
  readonly unfinished: () => readonly MessageWithParts[];
  readonly owed: (sessionID: string | undefined) => readonly OwedAnswer[];
  readonly events: (selection: EventQuery) => readonly DirectoryEvent[];
  readonly permissionEvents: (sessionID: string) => readonly DirectoryEvent[];
  readonly eventSpan: () => EventSpan;
  readonly decision: (requestID: string) => PermissionDecision | undefined;
  readonly decisions: (selection: DecisionQuery) => readonly PermissionDecision[];
};

/**
 * Queries of the store. `newest` returns the newest state of a part, which may be ahead of its row while it grows. For one
 * consistent state, the caller runs `range`, `message` and `unfinished` in a transaction: they run several statements.
 */
export const createSqliteReads = (
  statement: Statements,
  newest: (part: Part) => Part = (part) => part,
): SqliteReads => {
  /** Adds their parts to messages, which must be consecutive ones of a session in the order of their ids. */
  const withParts = (infos: readonly Message[]): readonly MessageWithParts[] => {
    const [first, last] = [infos.at(0), infos.at(-1)];
    if (first === undefined || last === undefined) return [];
    const rows = statement(PARTS).all(first.sessionID, first.id, last.id);
    const partsOf = Map.groupBy(rows, (row) => columnText(row, 'message_id'));
    return infos.map((info) => ({
      info,
      parts: (partsOf.get(info.id) ?? []).map((row) => newest(rowToPart(row, 'data'))).sort(byID),
    }));
  };
  return {
    session(id) {
      const row = statement('SELECT data FROM session WHERE id = ? AND is_hidden = 0').get(id);
      return row === undefined ? undefined : rowToSession(row);
    },
    sessions({ directory, parentID, areRoots, search, updatedSince, after, limit }) {
      const { where, values } = buildWhere([
        ['directory = ?', asJson(directory)],
        ['parent_id = ?', parentID],
        ['(parent_id IS NULL) = ?', areRoots === true ? 1 : undefined],
        ['instr(folded_title, ?) > 0', search === undefined ? undefined : foldTitle(search)],
        ['updated >= ?', updatedSince],
        ['updated <= ?', after?.updatedMs],
        ['(updated < ? OR id > ?)', after?.updatedMs, after?.id],
        ['is_hidden = ?', 0],
      ]);
      const sql = `SELECT data FROM session${where} ORDER BY updated DESC, id LIMIT ?`;
      return statement(sql)
        .all(...values, limitOf(limit))
        .map(rowToSession);
    },
    sessionOutlines: () => statement(SESSION_OUTLINES).all().map(rowToSessionOutline),
    sessionsByID: (ids) => statement(SESSIONS_BY_ID).all(JSON.stringify(ids)).map(rowToSession),
    awaitingSessions: () => rowsToAwaitingSessions(statement(AWAITING_SESSIONS).all()),
    outline(sessionID, asked) {
      const { where, values } = whereMessages(sessionID, asked);
      return statement(OUTLINE(where))
        .all(...values, limitOf(asked.limit))
        .map(rowToSizedMessage)
        .reverse();
    },
    heads(sessionID, asked) {
      const { where, values } = whereMessages(sessionID, asked);
      return statement(HEADS(where))
        .all(...values, limitOf(asked.limit))
        .map(rowToMessageHead)
        .reverse();
    },
    range(sessionID, firstID, lastID) {
      const rows = statement('SELECT data FROM message WHERE session_id = ? AND id BETWEEN ? AND ? ORDER BY id');
      return withParts(rows.all(sessionID, firstID, lastID).map(rowToMessage));
    },
    message(sessionID, messageID) {
      const row = statement('SELECT data FROM message WHERE id = ? AND session_id = ?').get(messageID, sessionID);
      return row === undefined ? undefined : withParts([rowToMessage(row)])[0];
    },
    output(sessionID, partID) {
      const row = statement('SELECT data FROM output WHERE part_id = ? AND session_id = ?').get(partID, sessionID);
      return row === undefined ? undefined : rowToOutput(row);
    },
    unfinished: () =>
      statement(UNFINISHED)
        .all()
        .flatMap((row) => withParts([rowToMessage(row)])),
    owed(sessionID) {
      const { where, values } = buildWhere([
        ['owed.session_id = ?', sessionID],
        ['session.is_hidden = ?', 0],
      ]);
      return statement(OWED(where))
        .all(...values)
        .map(rowToOwedAnswer);
    },
    events({ afterID, directory, limit, limitBytes = Number.POSITIVE_INFINITY }) {
      const { where, values } = buildWhere([
        ['id > ?', afterID],
        ['directory = ?', asJson(directory)],
      ]);
      const page: DirectoryEvent[] = [];
      let bytes = 0;
      // Iterated, so that rows beyond the byte limit are not read.
      const rows = statement(`SELECT id, directory, data FROM event${where} ORDER BY id LIMIT ?`);
      for (const row of rows.iterate(...values, limit)) {
        page.push(rowToEvent(row));
        bytes += columnText(row, 'data').length;
        if (bytes >= limitBytes) break;
      }
      return page;
    },
    permissionEvents: (sessionID) =>
      statement(
        `SELECT id, directory, data FROM event WHERE session_id = ? AND instr(data, '${PERMISSION_TYPE}') > 0 ORDER BY id`,
      )
        .all(sessionID)
        .map(rowToEvent)
        .filter(isPermissionEvent),
    eventSpan() {
      return rowToEventSpan(statement(EVENT_SPAN).get());
    },
    decision(requestID) {
      const row = statement('SELECT data FROM decision WHERE id = ?').get(requestID);
      return row === undefined ? undefined : rowToDecision(row);
    },
    decisions({ limit, beforeID, isAsked }) {
      const { where, values } = buildWhere([
        ['is_asked = ?', isAsked && 1],
        ['seq < (SELECT seq FROM decision WHERE id = ?)', beforeID],
      ]);
      return statement(`SELECT data FROM decision${where} ORDER BY seq DESC LIMIT ?`)
        .all(...values, limit)
        .map(rowToDecision);
    },
  };
};
