import { type EventDraft, sessionIDOf } from '../../protocol/events.ts';
import { type Ids, nextEventID } from '../../protocol/ids.ts';
import { isAboutRequest, type PermissionDecision } from '../../protocol/permissions.ts';
import { isUnfinished, type Message, type Part, type Session } from '../../protocol/types.ts';
import { OrphanError, StaleSessionError } from '../../store/errors.ts';
import { DECISIONS_KEPT, type DirectoryEvent, foldTitle, type StoreChange } from '../../store/store.ts';
import { columnText } from '../sql-store.ts';
import type { Statements } from './database.ts';
import { createSqliteTurnWrites } from './turns.ts';

const PUT_SESSION = `
  INSERT INTO session (id, directory, parent_id, folded_title, updated, data) VALUES (?, ?, ?, ?, ?, ?)
  ON CONFLICT (id) DO UPDATE SET directory = excluded.directory, parent_id = excluded.parent_id,
    folded_title = excluded.folded_title, updated = excluded.updated, data = excluded.data, is_hidden = 0`;
const HAS_SESSION = 'SELECT 1 FROM session WHERE id = ? AND data = ? AND is_hidden = 0';
const FORGET_BEGUN = 'DELETE FROM session WHERE id = ? AND is_hidden = 1';
/** `updated` is the time of the beginning, by which an abandoned session is found. */
const BEGIN_SESSION = `
  INSERT INTO session (id, directory, parent_id, folded_title, updated, data, is_hidden)
  VALUES (?, ?, ?, ?, unixepoch() * 1000, ?, 1) ON CONFLICT (id) DO NOTHING`;
const FORGET_GIVEN_UP = 'DELETE FROM session WHERE is_hidden = 1 AND updated < (unixepoch() - 86400) * 1000';
// These change no row when the row that they belong to is missing, or when the id belongs to another one.
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
const PUT_OWED = `
  INSERT INTO owed (message_id, session_id, is_begun) SELECT ?1, ?2, ?3
  WHERE EXISTS (SELECT 1 FROM message WHERE id = ?1 AND session_id = ?2)
  ON CONFLICT (message_id) DO UPDATE SET is_begun = excluded.is_begun`;
const REMOVE_OWED = 'DELETE FROM owed WHERE message_id = ? AND session_id = ?';
const LAST_EVENT = "SELECT max(newest, coalesce((SELECT max(id) FROM event), '')) AS id FROM event_mark";
const PUT_EVENT = 'INSERT INTO event (id, session_id, directory, data) VALUES (?, ?, ?, ?)';
/** Run before events are deleted, so that no id is given twice. */
const MARK_NEWEST = "UPDATE event_mark SET newest = max(newest, coalesce((SELECT max(id) FROM event), ''))";
const MARK_FORGOTTEN = 'UPDATE event_mark SET forgotten = max(forgotten, ?)';
const OLDEST_TO_GO = 'SELECT id FROM event ORDER BY id DESC LIMIT 1 OFFSET ?';
const OVER_BYTES = `
  SELECT id FROM (
    SELECT id, sum(octet_length(data)) OVER (ORDER BY id DESC ROWS UNBOUNDED PRECEDING) AS bytes FROM event
  ) WHERE bytes > ? LIMIT 1`;

const LAST_PLACE = '(SELECT max(place) FROM decision WHERE is_asked = ?1)';
const PUT_DECISION = `INSERT INTO decision (is_asked, id, data, place) VALUES (?1, ?2, ?3, ifnull(${LAST_PLACE}, 0) + 1)
  ON CONFLICT (id) DO NOTHING`;
const FORGET_DECISIONS = `DELETE FROM decision WHERE is_asked = ?1 AND place <= ${LAST_PLACE} - ${DECISIONS_KEPT}`;

/** No session has this id. One that is left behind is removed as any that was begun and given up. */
const PROBE_ID = 'space-probe';
const PROBE_BYTES = 256 * 1024;

/** How many times the bytes of events are checked while as many bytes are added as may be stored. */
const CHECKS = 8;

type SqliteWrites = {
  /** `isDeferred`: a part that is stored already is not written again. */
  readonly apply: (change: StoreChange, isDeferred: boolean) => void;
  readonly addEvents: (
    events: readonly { readonly directory: string; readonly draft: EventDraft }[],
  ) => readonly DirectoryEvent[];
  readonly recordDecision: (decision: PermissionDecision) => void;
  readonly prune: (keep: number) => void;
  /** Stores about as much as a long prompt takes, where no query finds it. */
  readonly takeSpace: () => void;
  /** Removes that again. */
  readonly freeSpace: () => void;
};

type SqliteWritesParts = {
  readonly statement: Statements;
  readonly ids: Ids;
  /** The limit for stored events, exceeded by at most an eighth. */
  readonly eventLimitBytes: number;
};

/** Writes of the store. The caller runs each of them in a transaction. */
export const createSqliteWrites = ({ statement, ids, eventLimitBytes }: SqliteWritesParts): SqliteWrites => {
  // The bytes that an earlier process has left are unknown until the first check.
  let uncheckedBytes = eventLimitBytes;
  const applyToTurns = createSqliteTurnWrites(statement);
  const runOwned = (kind: OrphanError['kind'], sql: string, values: readonly (string | number | null)[]): void => {
    if (Number(statement(sql).run(...values).changes) === 0) throw new OrphanError(kind);
  };
  const putSession = (session: Session): void => {
    const { id, directory, parentID, title, time } = session;
    const columns = [id, JSON.stringify(directory), parentID ?? null, foldTitle(title), time.updated];
    statement(PUT_SESSION).run(...columns, JSON.stringify(session));
  };
  const refuseStale = ({ session: { id }, before }: Extract<StoreChange, { kind: 'session' }>): void => {
    if (before === undefined) return;
    if (statement(HAS_SESSION).get(id, JSON.stringify(before)) === undefined) throw new StaleSessionError();
  };
  const beginSession = (session: Session): void => {
    const { id, directory, parentID, title } = session;
    statement(FORGET_BEGUN).run(id);
    const columns = [id, JSON.stringify(directory), parentID ?? null, foldTitle(title), JSON.stringify(session)];
    runOwned('session', BEGIN_SESSION, columns);
  };
  const removeSession = (sessionID: string): void => {
    statement(MARK_NEWEST).run();
    statement('DELETE FROM event WHERE session_id = ?').run(sessionID);
    statement('DELETE FROM session WHERE id = ?').run(sessionID);
  };
  const putMessage = (message: Message): void => {
    runOwned('message', PUT_MESSAGE, [
      message.id,
      message.sessionID,
      Number(isUnfinished(message)),
      JSON.stringify(message),
    ]);
  };
  // Of the parts that a commit has stored: most are in one of its events as well, and a part may be the largest prompt.
  let partTexts = new WeakMap<Part, string>();
  const putPart = (part: Part): void => {
    const text = JSON.stringify(part);
    partTexts.set(part, text);
    runOwned('part', PUT_PART, [part.id, part.messageID, part.sessionID, text]);
  };
  const eventText = (draft: EventDraft): string => {
    if (draft.type !== 'message.part.updated') return JSON.stringify(draft);
    const { part, ...rest } = draft.properties;
    const text = partTexts.get(part);
    if (text === undefined) return JSON.stringify(draft);
    return `{"type":"${draft.type}","properties":{"part":${text},${JSON.stringify(rest).slice(1)}}`;
  };
  const putAnswerState = ({ sessionID, promptID, state }: Extract<StoreChange, { kind: 'answer' }>): void => {
    if (state === 'ended') statement(REMOVE_OWED).run(promptID, sessionID);
    else runOwned('message', PUT_OWED, [promptID, sessionID, Number(state === 'begun')]);
  };
  const hasPart = ({ id, messageID, sessionID }: Part): boolean =>
    statement(HAS_PART).get(id, messageID, sessionID) !== undefined;
  /** Deletes the events up to the one of this row, including it. */
  const forgetUpTo = (row: Readonly<Record<string, unknown>> | undefined): void => {
    if (row === undefined) return;
    const id = columnText(row, 'id');
    statement(MARK_NEWEST).run();
    statement(MARK_FORGOTTEN).run(id);
    statement('DELETE FROM event WHERE id <= ?').run(id);
  };
  return {
    apply(change, isDeferred) {
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
          if (!isDeferred || !hasPart(change.part)) putPart(change.part);
          break;
        case 'output':
          runOwned('output', PUT_OUTPUT, [change.partID, change.sessionID, JSON.stringify(change.text)]);
          break;
        case 'answer':
          putAnswerState(change);
          break;
        default:
          applyToTurns(change);
      }
    },
    addEvents(events) {
      if (events.length === 0) return [];
      let last = columnText(statement(LAST_EVENT).get() ?? {}, 'id');
      const placed = events.map(({ directory, draft }) => {
        last = nextEventID(ids, last);
        const data = eventText(draft);
        statement(PUT_EVENT).run(last, sessionIDOf(draft) ?? null, JSON.stringify(directory), data);
        uncheckedBytes += data.length;
        return { directory, event: { ...draft, id: last } };
      });
      partTexts = new WeakMap();
      if (uncheckedBytes * CHECKS > eventLimitBytes) {
        uncheckedBytes = 0;
        forgetUpTo(statement(OVER_BYTES).get(eventLimitBytes));
      }
      return placed;
    },
    recordDecision(decision) {
      const isAsked = Number(isAboutRequest(decision));
      statement(PUT_DECISION).run(isAsked, decision.id, JSON.stringify(decision));
      statement(FORGET_DECISIONS).run(isAsked);
    },
    takeSpace() {
      statement(BEGIN_SESSION).run(PROBE_ID, '', null, '', ' '.repeat(PROBE_BYTES));
    },
    freeSpace() {
      statement(FORGET_BEGUN).run(PROBE_ID);
    },
    prune(keep) {
      forgetUpTo(statement(OLDEST_TO_GO).get(keep));
      statement(FORGET_GIVEN_UP).run();
    },
  };
};
