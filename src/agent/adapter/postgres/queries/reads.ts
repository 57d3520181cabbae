import type { Part, Session } from '../../../protocol/types.ts';
import {
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
} from '../../../store/store.ts';
import {
  AWAITING,
  columnText,
  isPermissionEvent,
  nextTurn,
  PERMISSION_TYPE,
  rowsToAwaitingSessions,
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
  type StoredRow,
} from '../../sql-store.ts';
import type { PostgresConnection, Sql } from '../connection.ts';

/** Events of one query: some of them hold long texts. */
const EVENTS_PER_QUERY = 200;

/** How much is parsed before the event loop gets a turn. A larger message is parsed at once. */
const SLICE_CHARS = 512 * 1024;

/** Messages from rows of one part each. The rows are in the order of messages and of their parts. */
const toStoredMessages = async (
  rows: readonly StoredRow[],
  newest: (part: Part) => Part,
): Promise<readonly MessageWithParts[]> => {
  const messages: MessageWithParts[] = [];
  let chars = 0;
  for (const group of Map.groupBy(rows, (row) => columnText(row, 'id')).values()) {
    const parts = group.filter((row) => row.part !== null);
    chars += parts.reduce((sum, row) => sum + columnText(row, 'part').length, 0);
    if (chars > SLICE_CHARS && messages.length > 0) {
      chars = 0;
      await nextTurn();
    }
    const [first] = group;
    if (first === undefined) continue;
    messages.push({ info: rowToMessage(first), parts: parts.map((row) => newest(rowToPart(row, 'part'))) });
  }
  return messages;
};

/** The condition is that of the index. */
const IS_AWAITING = `position('${AWAITING}' IN data) > 0`;

/** An id that PostgreSQL can store, which has no NUL and no lone surrogate. An id that does not exist still does not exist. */
export const asID = (id: string): string => id.toWellFormed().replaceAll('\0', '\ufffd');
const asJson = (text: string): string => JSON.stringify(text);
/** The driver takes no undefined. A null limit means none. */
const limitOf = (limit: number | undefined): number | null => limit ?? null;

/** Sorts after every event id. */
const AFTER_EVENTS = 'z';

type EventPage = {
  readonly events: readonly DirectoryEvent[];
  /** Every group of commits up to this one had ended when the events were read. */
  readonly settled: number;
  /** Whether these are all settled events of the query. */
  readonly isWhole: boolean;
};

/** Queries of the store. `newest` returns the newest state of a part, which may be ahead of its row while it grows. */
export const createPostgresReads = ({ query }: PostgresConnection, newest: (part: Part) => Part) => {
  const newestMessages = (sql: Sql, sessionID: string, { limit, beforeID, fromID }: MessageQuery) => sql`
    FROM message WHERE session_id = ${asID(sessionID)}
      ${beforeID === undefined ? sql`` : sql`AND id < ${asID(beforeID)}`}
      ${fromID === undefined ? sql`` : sql`AND id >= ${asID(fromID)}`}
    ORDER BY id DESC LIMIT ${limitOf(limit)}`;
  const messageBytes = (sql: Sql) => sql`
    (octet_length(data) + coalesce((
      SELECT sum(octet_length(part.data)) FROM part WHERE part.message_id = message.id
    ), 0))::text AS bytes`;
  const messagesBy = (sql: Sql, sessionID: string, asked: MessageQuery) => sql`
    SELECT asked.id, asked.data, part.data AS part FROM (
      SELECT id, data ${newestMessages(sql, sessionID, asked)}
    ) AS asked LEFT JOIN part ON part.message_id = asked.id ORDER BY asked.id, part.id`;
  /** Once settled, a group stays so. A later query of the database may know less: see `settled_group`. */
  let settled = 0;
  const noteSettled = (group: number): void => {
    settled = Math.max(settled, group);
  };
  const settledRows = async ({ afterID, directory }: EventQuery, beforeID: string, limit: number) => {
    const [first, ...rows] = await query(
      (sql) => sql`
        SELECT settled::text AS settled, event_id AS id, event_directory AS directory, event_data AS data
        FROM settled_events(${settled}, ${asID(afterID)}, ${beforeID},
          ${directory === undefined ? null : asJson(directory)}, ${limit})`,
    );
    // Not `settled`: another query may have noted more meanwhile, and this one has no rows of that.
    const upTo = Number(columnText(first, 'settled'));
    noteSettled(upTo);
    return { rows, upTo };
  };
  /** Events that no event of an earlier group can come before any more, before the id `beforeID`. */
  const settledEvents = async (selection: EventQuery, beforeID = AFTER_EVENTS): Promise<EventPage> => {
    const { limit, limitBytes = Number.POSITIVE_INFINITY } = selection;
    const events: DirectoryEvent[] = [];
    let bytes = 0;
    let { afterID } = selection;
    let upTo = 0;
    while (events.length < limit) {
      const count = Math.min(EVENTS_PER_QUERY, limit - events.length);
      const page = await settledRows({ ...selection, afterID }, beforeID, count);
      const { rows } = page;
      upTo = page.upTo;
      for (const row of rows) {
        events.push(rowToEvent(row));
        bytes += columnText(row, 'data').length;
        if (bytes >= limitBytes) return { events, settled: upTo, isWhole: false };
      }
      if (rows.length < count) return { events, settled: upTo, isWhole: true };
      afterID = columnText(rows.at(-1), 'id');
    }
    return { events, settled: upTo, isWhole: false };
  };
  return {
    session: async (id: string): Promise<Session | undefined> => {
      const [row] = await query((sql) => sql`SELECT data FROM session WHERE id = ${asID(id)} AND NOT is_hidden`);
      return row === undefined ? undefined : rowToSession(row);
    },
    sessionsByID: async (ids: readonly string[]): Promise<readonly Session[]> => {
      const asked = JSON.stringify(ids.map(asID));
      const rows = await query(
        (sql) => sql`
          SELECT data FROM session
          WHERE id IN (SELECT value FROM json_array_elements_text(${asked}::text::json)) AND NOT is_hidden`,
      );
      return rows.map(rowToSession);
    },
    sessions: async (selection: SessionQuery): Promise<readonly Session[]> => {
      const { directory, parentID, areRoots, search, updatedSince, after, limit } = selection;
      const rows = await query(
        (sql) => sql`
          SELECT data FROM session WHERE NOT is_hidden
            ${directory === undefined ? sql`` : sql`AND directory = ${asJson(directory)}`}
            ${parentID === undefined ? sql`` : sql`AND parent_id = ${asID(parentID)}`}
            ${areRoots === true ? sql`AND parent_id IS NULL` : sql``}
            ${search === undefined ? sql`` : sql`AND position(${foldTitle(search)} IN folded_title) > 0`}
            ${updatedSince === undefined ? sql`` : sql`AND updated >= ${updatedSince}`}
            ${after === undefined ? sql`` : sql`AND updated <= ${after.updatedMs} AND (updated < ${after.updatedMs} OR id > ${asID(after.id)})`}
          ORDER BY updated DESC, id LIMIT ${limitOf(limit)}`,
      );
      return rows.map(rowToSession);
    },
    sessionOutlines: async (): Promise<readonly SessionOutline[]> => {
      const rows = await query(
        (sql) => sql`
          SELECT id, parent_id, updated::text AS updated FROM session WHERE NOT is_hidden ORDER BY updated DESC, id`,
      );
      return rows.map(rowToSessionOutline);
    },
    awaitingSessions: async (): Promise<readonly Session[]> =>
      rowsToAwaitingSessions(
        await query((sql) => sql`SELECT data FROM session WHERE ${sql.unsafe(IS_AWAITING)} AND NOT is_hidden`),
      ),
    messages: async (sessionID: string, selection: MessageQuery): Promise<readonly MessageWithParts[]> =>
      toStoredMessages(await query((sql) => messagesBy(sql, sessionID, selection)), newest),
    outline: async (sessionID: string, asked: MessageQuery): Promise<readonly MessageOutline[]> => {
      const rows = await query((sql) => sql`SELECT id, ${messageBytes(sql)} ${newestMessages(sql, sessionID, asked)}`);
      return rows.map(rowToSizedMessage).reverse();
    },
    heads: async (sessionID: string, asked: MessageQuery): Promise<readonly MessageHead[]> => {
      const rows = await query(
        (sql) => sql`SELECT data, ${messageBytes(sql)} ${newestMessages(sql, sessionID, asked)}`,
      );
      return rows.map(rowToMessageHead).reverse();
    },
    message: async (sessionID: string, messageID: string): Promise<MessageWithParts | undefined> => {
      const rows = await query(
        (sql) => sql`
          SELECT message.id, message.data, part.data AS part
          FROM message LEFT JOIN part ON part.message_id = message.id
          WHERE message.id = ${asID(messageID)} AND message.session_id = ${asID(sessionID)} ORDER BY part.id`,
      );
      return (await toStoredMessages(rows, newest))[0];
    },
    output: async (sessionID: string, partID: string): Promise<string | undefined> => {
      const [row] = await query(
        (sql) => sql`SELECT data FROM output WHERE part_id = ${asID(partID)} AND session_id = ${asID(sessionID)}`,
      );
      return row === undefined ? undefined : rowToOutput(row);
    },
    unfinished: async (): Promise<readonly MessageWithParts[]> => {
      const rows = await query(
        (sql) => sql`
          SELECT message.id, message.data, part.data AS part
          FROM message JOIN session ON session.id = message.session_id AND NOT session.is_hidden
          LEFT JOIN part ON part.message_id = message.id
          WHERE message.is_unfinished ORDER BY message.id, part.id`,
      );
      return toStoredMessages(rows, newest);
    },
    owed: async (sessionID?: string): Promise<readonly OwedAnswer[]> => {
      const rows = await query(
        (sql) => sql`
          SELECT owed.session_id, owed.message_id, owed.is_begun
          FROM owed JOIN session ON session.id = owed.session_id AND NOT session.is_hidden
          ${sessionID === undefined ? sql`` : sql`WHERE owed.session_id = ${asID(sessionID)}`} ORDER BY owed.seq`,
      );
      return rows.map(rowToOwedAnswer);
    },
    settledEvents,
    noteSettled,
    events: async (selection: EventQuery): Promise<readonly DirectoryEvent[]> =>
      (await settledEvents(selection)).events,
    permissionEvents: async (sessionID: string): Promise<readonly DirectoryEvent[]> => {
      const rows = await query(
        (sql) => sql`
          SELECT id, directory, data FROM event
          WHERE session_id = ${asID(sessionID)} AND position(${PERMISSION_TYPE} IN data) > 0 ORDER BY id`,
      );
      return rows.map(rowToEvent).filter(isPermissionEvent);
    },
    /** The newest group of commits up to which every one has ended. */
    async settledGroup(): Promise<number> {
      const [row] = await query((sql) => sql`SELECT settled_group()::text AS settled`);
      noteSettled(Number(columnText(row, 'settled')));
      return settled;
    },
    async eventSpan(): Promise<EventSpan> {
      const [row] = await query(
        (sql) => sql`
          SELECT coalesce((SELECT min(id) FROM event), '') AS oldest, forgotten,
            greatest(newest, (SELECT max(id) FROM event)) AS newest FROM event_mark`,
      );
      return rowToEventSpan(row);
    },
  };
};
