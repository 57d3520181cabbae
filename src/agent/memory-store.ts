import { nextEventID } from './event-ids.ts';
import type { Ids } from './ids.ts';
import { createMemoryTables } from './memory-tables.ts';
import type { Message } from './message.ts';
import type { Session } from './session.ts';
import type { PlacedEvent, SessionsAsked, Store, Told } from './store.ts';
import { foldedTitle } from './title-search.ts';
import { isUnfinished } from './unfinished.ts';

export type MemoryStoreNeeds = {
  readonly ids: Ids;
  /** The newest so many events are kept, whether or not anybody prunes them. */
  readonly eventLimit?: number;
};

const DEFAULT_EVENT_LIMIT = 20_000;

const byID = <Row extends { readonly id: string }>(rows: Iterable<Row>): Row[] =>
  [...rows].sort((left, right) => (left.id < right.id ? -1 : 1));

const latestFirst = (left: Session, right: Session): number =>
  right.time.updated - left.time.updated || (left.id < right.id ? -1 : 1);

const isAsked = (session: Session, { directory, parentID, areRoots, search, updatedSince }: SessionsAsked): boolean =>
  (directory === undefined || session.directory === directory) &&
  (parentID === undefined || session.parentID === parentID) &&
  (areRoots !== true || session.parentID === undefined) &&
  (search === undefined || foldedTitle(session.title).includes(foldedTitle(search))) &&
  (updatedSince === undefined || session.time.updated >= updatedSince);

/** A store that is gone with the process, for tests and for trying things out. Sessions in it are not bounded. */
export const createMemoryStore = ({ ids, eventLimit = DEFAULT_EVENT_LIMIT }: MemoryStoreNeeds): Store => {
  const { sessions, messages, parts, outputs, apply } = createMemoryTables();
  const events: PlacedEvent[] = [];
  let lastEventID = '';
  let isClosed = false;
  const refuseWhenClosed = (): void => {
    if (isClosed) throw new Error('Cannot use the store: it is closed');
  };
  const keepNewest = (count: number): void => void events.splice(0, Math.max(0, events.length - count));
  const toldOf = (infos: readonly Message[]): readonly Told[] => {
    const partsOf = Map.groupBy(parts.values(), ({ messageID }) => messageID);
    return infos.map((info) => ({ info, parts: byID(partsOf.get(info.id) ?? []) }));
  };
  return {
    async commit(changes, drafts) {
      refuseWhenClosed();
      const placed = drafts.map(({ directory, draft }): PlacedEvent => {
        lastEventID = nextEventID(ids, lastEventID);
        return { directory, event: { ...draft, id: lastEventID } };
      });
      apply(changes);
      for (const one of placed) events.push(one);
      keepNewest(eventLimit);
      return placed;
    },
    async session(id) {
      refuseWhenClosed();
      return sessions.get(id);
    },
    async sessions(asked) {
      refuseWhenClosed();
      return [...sessions.values()]
        .filter((session) => isAsked(session, asked))
        .sort(latestFirst)
        .slice(0, asked.limit);
    },
    async messages(sessionID, { limit, beforeID } = {}) {
      refuseWhenClosed();
      const older = byID([...messages.values()].filter((message) => message.sessionID === sessionID)).filter(
        ({ id }) => beforeID === undefined || id < beforeID,
      );
      return toldOf(older.slice(limit === undefined ? 0 : Math.max(0, older.length - limit)));
    },
    async message(sessionID, messageID) {
      refuseWhenClosed();
      const message = messages.get(messageID);
      return message?.sessionID === sessionID ? toldOf([message])[0] : undefined;
    },
    async output(sessionID, partID) {
      refuseWhenClosed();
      const output = outputs.get(partID);
      return output?.sessionID === sessionID ? output.text : undefined;
    },
    async unfinished() {
      refuseWhenClosed();
      return toldOf(byID(messages.values()).filter(isUnfinished));
    },
    async events({ afterID, directory, limit }) {
      refuseWhenClosed();
      return events
        .filter((placed) => placed.event.id > afterID && (directory === undefined || placed.directory === directory))
        .slice(0, limit);
    },
    async pruneEvents(keep) {
      refuseWhenClosed();
      keepNewest(keep);
    },
    async close() {
      isClosed = true;
    },
  };
};
