import { sessionIDOf } from '../../../src/agent/protocol/events.ts';
import { type Ids, nextEventID } from '../../../src/agent/protocol/ids.ts';
import type { PermissionDecision } from '../../../src/agent/protocol/permissions.ts';
import { isUnfinished, type Message, type Session } from '../../../src/agent/protocol/types.ts';

import {
  DECISIONS_KEPT,
  type DirectoryEvent,
  foldTitle,
  type MessageQuery,
  type MessageWithParts,
  type SessionQuery,
  type Store,
  type StoreChange,
} from '../../../src/agent/store/store.ts';

import { createMemoryTables } from './memory-tables.ts';

type MemoryStoreNeeds = {
  readonly ids: Ids;
  /** The newest so many events are kept, whether or not anybody prunes them. */
  readonly eventLimit?: number;
};

const DEFAULT_EVENT_LIMIT = 20_000;

const byID = <Row extends { readonly id: string }>(rows: Iterable<Row>): Row[] =>
  [...rows].sort((left, right) => (left.id < right.id ? -1 : 1));

const sizeOf = (value: unknown): number => JSON.stringify(value).length;

const latestFirst = (left: Session, right: Session): number =>
  right.time.updated - left.time.updated || (left.id < right.id ? -1 : 1);

const isAsked = (
  session: Session,
  { directory, parentID, areRoots, search, updatedSince, after }: SessionQuery,
): boolean =>
  (directory === undefined || session.directory === directory) &&
  (parentID === undefined || session.parentID === parentID) &&
  (areRoots !== true || session.parentID === undefined) &&
  (search === undefined || foldTitle(session.title).includes(foldTitle(search))) &&
  (updatedSince === undefined || session.time.updated >= updatedSince) &&
  (after === undefined ||
    session.time.updated < after.updatedMs ||
    (session.time.updated === after.updatedMs && session.id > after.id));

/** A store that is gone with the process, for tests and for trying things out. Sessions in it are not bounded. */
export const createMemoryStore = ({ ids, eventLimit = DEFAULT_EVENT_LIMIT }: MemoryStoreNeeds): Store => {
  const { sessions, hidden, messages, parts, outputs, owed, turns, apply } = createMemoryTables();
  let events: DirectoryEvent[] = [];
  const decisions: PermissionDecision[] = [];
  let lastEventID = '';
  let forgotten = '';
  let isClosed = false;
  const refuseWhenClosed = (): void => {
    if (isClosed) throw new Error('Cannot use the store: it is closed');
  };
  const keepNewest = (count: number): void => {
    const last = events.splice(0, Math.max(0, events.length - count)).at(-1);
    if (last !== undefined) forgotten = last.event.id;
  };
  const forgetEventsOf = (changes: readonly StoreChange[]): void => {
    const gone = changes.flatMap((change) => (change.kind === 'session-removed' ? [change.sessionID] : []));
    if (gone.length === 0) return;
    events = events.filter(({ event }) => !gone.some((sessionID) => sessionID === sessionIDOf(event)));
  };
  const infosOf = (sessionID: string, { limit, beforeID, fromID = '' }: MessageQuery): readonly Message[] => {
    const older = byID([...messages.values()].filter((message) => message.sessionID === sessionID)).filter(
      ({ id }) => id >= fromID && (beforeID === undefined || id < beforeID),
    );
    return older.slice(limit === undefined ? 0 : Math.max(0, older.length - limit));
  };
  const withPartsOf = (infos: readonly Message[]): readonly MessageWithParts[] => {
    const partsOf = Map.groupBy(parts.values(), ({ messageID }) => messageID);
    return infos.map((info) => ({ info, parts: byID(partsOf.get(info.id) ?? []) }));
  };
  return {
    async commit(changes, drafts) {
      refuseWhenClosed();
      const placed = drafts.map(({ directory, draft }): DirectoryEvent => {
        lastEventID = nextEventID(ids, lastEventID);
        return { directory, event: { ...draft, id: lastEventID } };
      });
      apply(changes);
      forgetEventsOf(changes);
      for (const one of placed) events.push(one);
      keepNewest(eventLimit);
      return placed;
    },
    async session(id) {
      refuseWhenClosed();
      return hidden.has(id) ? undefined : sessions.get(id);
    },
    async sessionsByID(ids) {
      refuseWhenClosed();
      return [...sessions.values()].filter(({ id }) => !hidden.has(id) && ids.includes(id));
    },
    async sessions(asked) {
      refuseWhenClosed();
      return [...sessions.values()]
        .filter((session) => !hidden.has(session.id) && isAsked(session, asked))
        .sort(latestFirst)
        .slice(0, asked.limit);
    },
    async awaitingSessions() {
      refuseWhenClosed();
      return [...sessions.values()].filter(({ id, awaitedCalls }) => !hidden.has(id) && awaitedCalls !== undefined);
    },
    async sessionOutlines() {
      refuseWhenClosed();
      return [...sessions.values()]
        .filter(({ id }) => !hidden.has(id))
        .sort(latestFirst)
        .map(({ id, parentID, time }) => ({
          id,
          ...(parentID === undefined ? {} : { parentID }),
          updatedMs: time.updated,
        }));
    },
    async messages(sessionID, asked = {}) {
      refuseWhenClosed();
      return withPartsOf(infosOf(sessionID, asked));
    },
    async messageOutlines(sessionID, asked = {}) {
      refuseWhenClosed();
      return withPartsOf(infosOf(sessionID, asked)).map((reported) => ({
        id: reported.info.id,
        bytes: reported.parts.reduce((sum, part) => sum + sizeOf(part), sizeOf(reported.info)),
      }));
    },
    async messageHeads(sessionID, asked = {}) {
      refuseWhenClosed();
      return withPartsOf(infosOf(sessionID, asked)).map(({ info, parts }) => ({
        info,
        bytes: parts.reduce((sum, part) => sum + sizeOf(part), sizeOf(info)),
      }));
    },
    async message(sessionID, messageID) {
      refuseWhenClosed();
      const message = messages.get(messageID);
      return message?.sessionID === sessionID ? withPartsOf([message])[0] : undefined;
    },
    async output(sessionID, partID) {
      refuseWhenClosed();
      const output = outputs.get(partID);
      return output?.sessionID === sessionID ? output.text : undefined;
    },
    async unfinished() {
      refuseWhenClosed();
      return withPartsOf(
        byID(messages.values()).filter((message) => isUnfinished(message) && !hidden.has(message.sessionID)),
      );
    },
    async owed(sessionID) {
      refuseWhenClosed();
      return [...owed.values()].filter(
        (one) => !hidden.has(one.sessionID) && (sessionID ?? one.sessionID) === one.sessionID,
      );
    },
    async events({ afterID, directory, limit, limitBytes = Number.POSITIVE_INFINITY }) {
      refuseWhenClosed();
      const page: DirectoryEvent[] = [];
      let bytes = 0;
      for (const placed of events) {
        if (page.length >= limit || bytes >= limitBytes) break;
        if (placed.event.id <= afterID || (directory !== undefined && placed.directory !== directory)) continue;
        page.push(placed);
        bytes += sizeOf(placed.event);
      }
      return page;
    },
    async permissionEvents(sessionID) {
      refuseWhenClosed();
      return events.filter(({ event }) => event.type.startsWith('permission.') && sessionIDOf(event) === sessionID);
    },
    async eventSpan() {
      refuseWhenClosed();
      return { oldest: events[0]?.event.id ?? '', forgotten, newest: lastEventID };
    },
    turns,
    async pruneEvents(keep) {
      refuseWhenClosed();
      keepNewest(keep);
    },
    async recordDecision(decision) {
      refuseWhenClosed();
      if (decisions.every(({ id }) => id !== decision.id)) decisions.unshift(decision);
      decisions.length = Math.min(decisions.length, DECISIONS_KEPT);
    },
    async decision(requestID) {
      refuseWhenClosed();
      return decisions.find(({ id }) => id === requestID);
    },
    async decisions({ limit, beforeID }) {
      refuseWhenClosed();
      const place = beforeID === undefined ? -1 : decisions.findIndex(({ id }) => id === beforeID);
      if (beforeID !== undefined && place === -1) return [];
      return decisions.slice(place + 1, place + 1 + limit);
    },
    async close() {
      isClosed = true;
    },
  };
};
