import type { DatabaseSync } from 'node:sqlite';
import type { Ids } from '../../protocol/ids.ts';
import type { StoreHealth } from '../../store/cluster.ts';
import type { MessageOutline, MessageWithParts, Store } from '../../store/store.ts';
import { createGrowingParts, nextTurn } from '../sql-store.ts';
import { COMMIT_BUSY_LIMIT_MS, createStatementCache, inTransaction } from './database.ts';
import { createSqliteHealth } from './health.ts';
import { createWriteQueue } from './queue.ts';
import { createSqliteReads } from './reads.ts';
import { type OnStoreMade, openDatabase } from './schema.ts';
import { createSqliteTurnReads } from './turns.ts';
import { createSqliteWrites } from './writes.ts';

/** Splits messages into groups of about `limitBytes`. No group is empty; a larger message gets a group of its own. */
const splitByBytes = (
  outline: readonly MessageOutline[],
  limitBytes: number,
): readonly (readonly MessageOutline[])[] => {
  const groups: MessageOutline[][] = [];
  let remainingBytes = 0;
  for (const sized of outline) {
    const last = groups.at(-1);
    if (last !== undefined && sized.bytes <= remainingBytes) last.push(sized);
    else {
      groups.push([sized]);
      remainingBytes = limitBytes;
    }
    remainingBytes -= sized.bytes;
  }
  return groups;
};

type SqliteStoreOptions = {
  readonly ids: Ids;
  /** The limit for stored events, exceeded by at most an eighth (256 MiB). */
  readonly eventLimitBytes?: number;
  /** How long a commit waits for another process that writes before it fails (10 s). */
  readonly busyLimitMs?: number;
  /** How often a store that could not write is tried again (5 s). */
  readonly probeEveryMs?: number;
  /** A monotonic clock. */
  readonly nowMs?: () => number;
};

const EVENT_LIMIT_BYTES = 256 * 1024 * 1024;
/** How old the stored state of a growing part may be. */
const GROWING_EVERY_MS = 1000;
const PROBE_EVERY_MS = 5000;
/** How much of a session is read at once: reading blocks the event loop. */
const GROUP_BYTES = 1024 * 1024;
/** What has blocked the event loop for longer is followed by a turn of it, before anything is done with the result. */
const LONG_MS = 3;

/**
 * Opens a store in one SQLite file. If they are missing, the file and the last directory of its path are created, with access for
 * their owner only, and `onMade` is called. What is committed survives a power cut. Throws a `ConfigError` when the file cannot be
 * used. Meant for one server, which `claimServerFile` sees to: a second process may read and write the file too, but neither is notified of
 * the other's events, and a server that starts would treat the unfinished answers of a running one as abandoned. What it cannot read or
 * write, because the disk is full or the file damaged, fails with a `StoreUnavailableError`, and `health` says so.
 */
export const openSqliteStore = async ({
  file,
  onMade,
  ...options
}: SqliteStoreOptions & { readonly file: string; readonly onMade?: OnStoreMade }) =>
  createSqliteStore(await openDatabase(file, onMade), options);

/** The same with a database that is open. The store closes it. */
export const createSqliteStore = (
  database: DatabaseSync,
  {
    ids,
    eventLimitBytes = EVENT_LIMIT_BYTES,
    busyLimitMs = COMMIT_BUSY_LIMIT_MS,
    probeEveryMs = PROBE_EVERY_MS,
    nowMs = () => performance.now(),
  }: SqliteStoreOptions,
): Store & { readonly health: StoreHealth } => {
  const statement = createStatementCache(database);
  const probe = async (): Promise<void> => {
    await queue.add(() => writes.takeSpace());
    await queue.add(() => writes.freeSpace());
  };
  const health = createSqliteHealth({ everyMs: probeEveryMs, probe });
  const queue = createWriteQueue(database, busyLimitMs, health.note);
  const growing = createGrowingParts(nowMs, GROWING_EVERY_MS);
  const writes = createSqliteWrites({ statement, ids, eventLimitBytes });
  const reads = createSqliteReads(statement, growing.newest);
  const turns = createSqliteTurnReads(statement);
  let isClosed = false;
  const refuseWhenClosed = (): void => {
    if (isClosed) throw new Error('Cannot use the store: it is closed');
  };
  /** Of reads since the last that gave a turn: who reads in short pieces may read again before anything else gets one. */
  let readMs = 0;
  /** For one statement, which reads a consistent state without a transaction. */
  const read = async <T>(run: () => T): Promise<T> => {
    refuseWhenClosed();
    const sinceMs = performance.now();
    try {
      const found = run();
      readMs += performance.now() - sinceMs;
      if (readMs > LONG_MS) {
        readMs = 0;
        await nextTurn();
      }
      return found;
    } catch (error) {
      throw health.note(error);
    }
  };
  const readInTransaction = <T>(run: () => T): Promise<T> => read(() => inTransaction(database, 'DEFERRED', run));
  return {
    health,
    async commit(changes, events) {
      refuseWhenClosed();
      const deferred = new Set(changes.filter(growing.isDeferred));
      let sinceMs = 0;
      const placed = await queue.add(() => {
        sinceMs = performance.now();
        for (const change of changes) writes.apply(change, deferred.has(change));
        return writes.addEvents(events);
      });
      growing.record(changes, deferred);
      if (performance.now() - sinceMs > LONG_MS) await nextTurn();
      return placed;
    },
    session: (id) => read(() => reads.session(id)),
    sessionsByID: (asked) => read(() => reads.sessionsByID(asked)),
    sessions: (selection) => read(() => reads.sessions(selection)),
    sessionOutlines: () => read(() => reads.sessionOutlines()),
    awaitingSessions: () => read(() => reads.awaitingSessions()),
    async messages(sessionID, selection = {}) {
      const readGroup = (group: readonly MessageOutline[]): readonly MessageWithParts[] =>
        reads.range(sessionID, group[0]?.id ?? '', group.at(-1)?.id ?? '');
      // A session below the limit is read at once, in one consistent state.
      const { messages, rest } = await readInTransaction(() => {
        const [first = [], ...more] = splitByBytes(reads.outline(sessionID, selection), GROUP_BYTES);
        return { messages: [...readGroup(first)], rest: more };
      });
      for (const group of rest) {
        await nextTurn();
        messages.push(...(await readInTransaction(() => readGroup(group))));
      }
      return messages;
    },
    messageOutlines: (sessionID, selection = {}) => read(() => reads.outline(sessionID, selection)),
    messageHeads: (sessionID, selection = {}) => read(() => reads.heads(sessionID, selection)),
    message: (sessionID, messageID) => readInTransaction(() => reads.message(sessionID, messageID)),
    output: (sessionID, partID) => read(() => reads.output(sessionID, partID)),
    unfinished: () => readInTransaction(() => reads.unfinished()),
    owed: (sessionID) => read(() => reads.owed(sessionID)),
    events: (selection) => read(() => reads.events(selection)),
    permissionEvents: (sessionID) => read(() => reads.permissionEvents(sessionID)),
    eventSpan: () => read(() => reads.eventSpan()),
    decision: (requestID) => read(() => reads.decision(requestID)),
    decisions: (selection) => read(() => reads.decisions(selection)),
    async recordDecision(decision) {
      refuseWhenClosed();
      return queue.add(() => writes.recordDecision(decision));
    },
    turns: {
      turn: (owner, id) => read(() => turns.turn(owner, id)),
      byKey: (owner, key) => read(() => turns.byKey(owner, key)),
      byDigest: (owner, digest, limit) => read(() => turns.byDigest(owner, digest, limit)),
      ofConversation: (owner, id, asked) => read(() => turns.ofConversation(owner, id, asked)),
      ofPrompt: (sessionID, promptID) => read(() => turns.ofPrompt(sessionID, promptID)),
      due: (nowMs, limit) => read(() => turns.due(nowMs, limit)),
      conversation: (owner, id) => read(() => turns.conversation(owner, id)),
      conversationByName: (owner, name) => read(() => turns.conversationByName(owner, name)),
      chainOf: (turnID) => read(() => turns.chainOf(turnID)),
      chains: (owner, digests) => read(() => turns.chains(owner, digests)),
    },
    async pruneEvents(keep) {
      refuseWhenClosed();
      return queue.add(() => writes.prune(keep));
    },
    async close() {
      if (isClosed) return;
      isClosed = true;
      health.close();
      // The newest state of growing parts is not on the disk yet.
      for (const part of growing.parts()) queue.add(() => writes.apply({ kind: 'part', part }, false)).catch(() => {});
      queue.finish();
      database.close();
    },
  };
};
