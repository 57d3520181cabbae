import type { EventDraft } from '../agent/event.ts';
import { nextEventID } from '../agent/event-ids.ts';
import type { Ids } from '../agent/ids.ts';
import type { Message } from '../agent/message.ts';
import { OrphanError } from '../agent/orphan-error.ts';
import type { Part } from '../agent/part.ts';
import type { Session } from '../agent/session.ts';
import type { Change, PlacedEvent } from '../agent/store.ts';
import { foldedTitle } from '../agent/title-search.ts';
import { isUnfinished } from '../agent/unfinished.ts';
import { type Statements, textIn } from './sqlite-rows.ts';

const PUT_SESSION = `
  INSERT INTO session (id, directory, parent_id, folded_title, updated, data) VALUES (?, ?, ?, ?, ?, ?)
  ON CONFLICT (id) DO UPDATE SET directory = excluded.directory, parent_id = excluded.parent_id,
    folded_title = excluded.folded_title, updated = excluded.updated, data = excluded.data`;
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
const PUT_OUTPUT = `
  INSERT INTO output (part_id, session_id, data) SELECT ?1, ?2, ?3
  WHERE EXISTS (SELECT 1 FROM part JOIN message ON message.id = part.message_id
    WHERE part.id = ?1 AND message.session_id = ?2)
  ON CONFLICT (part_id) DO UPDATE SET data = excluded.data`;
const LAST_EVENT = `
  SELECT max(coalesce((SELECT max(id) FROM event), ''), coalesce((SELECT event_id FROM pruned), '')) AS id`;
const PUT_EVENT = 'INSERT INTO event (id, directory, data) VALUES (?, ?, ?)';
const OLDEST_TO_GO = 'SELECT id FROM event ORDER BY id DESC LIMIT 1 OFFSET ?';
const PUT_PRUNED = `
  INSERT INTO pruned (one, event_id) VALUES (1, (SELECT max(id) FROM event))
  ON CONFLICT (one) DO UPDATE SET event_id = excluded.event_id`;

export type SqliteWrites = {
  readonly apply: (change: Change) => void;
  readonly addEvents: (
    events: readonly { readonly directory: string; readonly draft: EventDraft }[],
  ) => readonly PlacedEvent[];
  readonly prune: (keep: number) => void;
};

/** What changes the database, each inside a transaction that the caller holds. */
export const createSqliteWrites = (statement: Statements, ids: Ids): SqliteWrites => {
  const owned = (kind: OrphanError['kind'], sql: string, values: readonly (string | number)[]): void => {
    if (Number(statement(sql).run(...values).changes) === 0) throw new OrphanError(kind);
  };
  const putSession = (session: Session): void => {
    const { id, directory, parentID, title, time } = session;
    const columns = [id, JSON.stringify(directory), parentID ?? null, foldedTitle(title), time.updated];
    statement(PUT_SESSION).run(...columns, JSON.stringify(session));
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
  return {
    apply(change) {
      switch (change.kind) {
        case 'session':
          putSession(change.session);
          break;
        case 'session-removed':
          statement('DELETE FROM session WHERE id = ?').run(change.sessionID);
          break;
        case 'message':
          putMessage(change.message);
          break;
        case 'message-removed':
          statement('DELETE FROM message WHERE id = ? AND session_id = ?').run(change.messageID, change.sessionID);
          break;
        case 'part':
          putPart(change.part);
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
      return events.map(({ directory, draft }) => {
        last = nextEventID(ids, last);
        statement(PUT_EVENT).run(last, JSON.stringify(directory), JSON.stringify(draft));
        return { directory, event: { ...draft, id: last } };
      });
    },
    prune(keep) {
      const oldest = statement(OLDEST_TO_GO).get(keep);
      if (oldest === undefined) return;
      statement(PUT_PRUNED).run();
      statement('DELETE FROM event WHERE id <= ?').run(textIn(oldest, 'id'));
    },
  };
};
