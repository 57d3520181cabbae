import { type EventDraft, sessionIDOf } from '../../agent/protocol/events.ts';
import { type Ids, nextEventID } from '../../agent/protocol/ids.ts';
import { isUnfinished, type Message, type Part, type Session } from '../../agent/protocol/types.ts';

import { foldedTitle } from '../../agent/session/title-search.ts';

import { OrphanError, StaleError } from '../../agent/store/errors.ts';

import type { Change, PlacedEvent } from '../../agent/store/store.ts';
import { textIn } from '../stored-rows.ts';
import type { Statements } from './reads.ts';

const PUT_SESSION = `
  INSERT INTO session (id, directory, parent_id, folded_title, updated, data) VALUES (?, ?, ?, ?, ?, ?)
  ON CONFLICT (id) DO UPDATE SET directory = excluded.directory, parent_id = excluded.parent_id,
    folded_title = excluded.folded_title, updated = excluded.updated, data = excluded.data, is_hidden = 0`;
const HAS_SESSION = 'SELECT 1 FROM session WHERE id = ? AND data = ? AND is_hidden = 0';
const FORGET_BEGUN = 'DELETE FROM session WHERE id = ? AND is_hidden = 1';
/** The time is that of the beginning, by which it is known when nobody goes on. */
const BEGIN_SESSION = `
  INSERT INTO session (id, directory, parent_id, folded_title, updated, data, is_hidden)
  VALUES (?, ?, ?, ?, unixepoch() * 1000, ?, 1) ON CONFLICT (id) DO NOTHING`;
const FORGET_GIVEN_UP = 'DELETE FROM session WHERE is_hidden = 1 AND updated < (unixepoch() - 86400) * 1000';
// These three change no row when what they belong to is not there, or when the id is taken elsewhere.
const PUT_MESSAGE = `
  INSERT INTO message (id, session_id, is_unfinished, data) SELECT ?1, ?2, ?3, ?4
  WHERE EXISTS (SELECT 1 FROM session WHERE id = ?2)
  ON CONFLICT (id) DO UPDATE SET is_unfinished = excluded.is_unfinished, data = excluded.data
  WHERE message.session_id = excluded.session_id`;
const PUT_PART = `
  INSERT INTO part (id, message_id, data) SELECT ?1, ?2, ?4
  WHERE EXISTS (SELECT 1 FROM message WHERE id = ?2 AND session_id = ?3)
  ON CONFLICT (id) DO UPDATE SET data = excluded.data WHERE part.message_id = excluded.message_id`;
const REMOVE_MESSAGES = 'DELETE FROM message WHERE session_id = ? AND id IN (SELECT value FROM json_each(?))';
const REMOVE_PARTS = `
  DELETE FROM part WHERE id IN (SELECT value FROM json_each(?2))
    AND message_id IN (SELECT id FROM message WHERE session_id = ?1)`;
const HAS_PART = `
  SELECT 1 FROM part JOIN message ON message.id = part.message_id
  WHERE part.id = ?1 AND part.message_id = ?2 AND message.session_id = ?3`;
const PUT_OUTPUT = `
  INSERT INTO output (part_id, session_id, data) SELECT ?1, ?2, ?3
  WHERE EXISTS (SELECT 1 FROM part JOIN message ON message.id = part.message_id
    WHERE part.id = ?1 AND message.session_id = ?2)
  ON CONFLICT (part_id) DO UPDATE SET data = excluded.data`;
const LAST_EVENT = "SELECT max(newest, coalesce((SELECT max(id) FROM event), '')) AS id FROM event_mark";
const PUT_EVENT = 'INSERT INTO event (id, session_id, directory, data) VALUES (?, ?, ?, ?)';
/** Before any go, so that no id is given twice. */
const MARK_NEWEST = "UPDATE event_mark SET newest = max(newest, coalesce((SELECT max(id) FROM event), ''))";
const MARK_FORGOTTEN = 'UPDATE event_mark SET forgotten = max(forgotten, ?)';
const OLDEST_TO_GO = 'SELECT id FROM event ORDER BY id DESC LIMIT 1 OFFSET ?';
const OVER_BYTES = `
  SELECT id FROM (
    SELECT id, sum(octet_length(data)) OVER (ORDER BY id DESC ROWS UNBOUNDED PRECEDING) AS bytes FROM event
  ) WHERE bytes > ? LIMIT 1`;

/** How often the bytes of events are looked at while so many come in as may be kept. */
const LOOKS = 8;

export type SqliteWrites = {
  /** `isSpared`: a part that is there already is only looked for. */
  readonly apply: (change: Change, isSpared: boolean) => void;
  readonly addEvents: (
    events: readonly { readonly directory: string; readonly draft: EventDraft }[],
  ) => readonly PlacedEvent[];
  readonly prune: (keep: number) => void;
};

export type SqliteWritesNeeds = {
  readonly statement: Statements;
  readonly ids: Ids;
  /** Of events no more than this is kept, and at times an eighth of it more. */
  readonly eventLimitBytes: number;
};

/** What changes the database, each inside a transaction that the caller holds. */
export const createSqliteWrites = ({ statement, ids, eventLimitBytes }: SqliteWritesNeeds): SqliteWrites => {
  // What an earlier process has left is not known before it is looked at.
  let unlookedBytes = eventLimitBytes;
  const owned = (kind: OrphanError['kind'], sql: string, values: readonly (string | number | null)[]): void => {
    if (Number(statement(sql).run(...values).changes) === 0) throw new OrphanError(kind);
  };
  const putSession = (session: Session): void => {
    const { id, directory, parentID, title, time } = session;
    const columns = [id, JSON.stringify(directory), parentID ?? null, foldedTitle(title), time.updated];
    statement(PUT_SESSION).run(...columns, JSON.stringify(session));
  };
  const refuseStale = ({ session: { id }, before }: Extract<Change, { kind: 'session' }>): void => {
    if (before === undefined) return;
    if (statement(HAS_SESSION).get(id, JSON.stringify(before)) === undefined) throw new StaleError();
  };
  const beginSession = (session: Session): void => {
    const { id, directory, parentID, title } = session;
    statement(FORGET_BEGUN).run(id);
    const columns = [id, JSON.stringify(directory), parentID ?? null, foldedTitle(title), JSON.stringify(session)];
    owned('session', BEGIN_SESSION, columns);
  };
  const removeSession = (sessionID: string): void => {
    statement(MARK_NEWEST).run();
    statement('DELETE FROM event WHERE session_id = ?').run(sessionID);
    statement('DELETE FROM session WHERE id = ?').run(sessionID);
  };
  const putMessage = (message: Message): void => {
    owned('message', PUT_MESSAGE, [
      message.id,
      message.sessionID,
      Number(isUnfinished(message)),
      JSON.stringify(message),
    ]);
  };
  const putPart = (part: Part): void =>
    owned('part', PUT_PART, [part.id, part.messageID, part.sessionID, JSON.stringify(part)]);
  const hasPart = ({ id, messageID, sessionID }: Part): boolean =>
    statement(HAS_PART).get(id, messageID, sessionID) !== undefined;
  /** Forgets events up to one, itself among them. */
  const forgetTo = (row: Readonly<Record<string, unknown>> | undefined): void => {
    if (row === undefined) return;
    const id = textIn(row, 'id');
    statement(MARK_NEWEST).run();
    statement(MARK_FORGOTTEN).run(id);
    statement('DELETE FROM event WHERE id <= ?').run(id);
  };
  return {
    apply(change, isSpared) {
      switch (change.kind) {
        case 'session':
          refuseStale(change);
          putSession(change.session);
          break;
        case 'session-begun':
          beginSession(change.session);
          break;
        case 'session-given-up':
          statement(FORGET_BEGUN).run(change.sessionID);
          break;
        case 'session-removed':
          removeSession(change.sessionID);
          break;
        case 'message':
          putMessage(change.message);
          break;
        case 'messages-removed':
          statement(REMOVE_MESSAGES).run(change.sessionID, JSON.stringify(change.messageIDs));
          break;
        case 'parts-removed':
          statement(REMOVE_PARTS).run(change.sessionID, JSON.stringify(change.partIDs));
          break;
        case 'part':
          if (!isSpared || !hasPart(change.part)) putPart(change.part);
          break;
        case 'output':
          owned('output', PUT_OUTPUT, [change.partID, change.sessionID, JSON.stringify(change.text)]);
          break;
        default:
          change satisfies never;
      }
    },
    addEvents(events) {
      if (events.length === 0) return [];
      let last = textIn(statement(LAST_EVENT).get() ?? {}, 'id');
      const placed = events.map(({ directory, draft }) => {
        last = nextEventID(ids, last);
        const data = JSON.stringify(draft);
        statement(PUT_EVENT).run(last, sessionIDOf(draft) ?? null, JSON.stringify(directory), data);
        unlookedBytes += data.length;
        return { directory, event: { ...draft, id: last } };
      });
      if (unlookedBytes * LOOKS > eventLimitBytes) {
        unlookedBytes = 0;
        forgetTo(statement(OVER_BYTES).get(eventLimitBytes));
      }
      return placed;
    },
    prune(keep) {
      forgetTo(statement(OLDEST_TO_GO).get(keep));
      statement(FORGET_GIVEN_UP).run();
    },
  };
};
