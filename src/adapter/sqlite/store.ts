import type { Ids } from '../../agent/protocol/ids.ts';
import type { Sized, Store, Told } from '../../agent/store/store.ts';
import { createGrowing } from '../stored-rows.ts';
import { openDatabase } from './database.ts';
import { inTransaction } from './errors.ts';
import { createWriteQueue } from './queue.ts';
import { createSqliteReads, createStatements } from './reads.ts';
import { createSqliteWrites } from './writes.ts';

/** The same messages in groups of about so many bytes. None is empty; a message that is larger has one of its own. */
export const stretchesOf = (outline: readonly Sized[], limitBytes: number): readonly (readonly Sized[])[] => {
  const stretches: Sized[][] = [];
  let room = 0;
  for (const sized of outline) {
    const last = stretches.at(-1);
    if (last !== undefined && sized.bytes <= room) last.push(sized);
    else {
      stretches.push([sized]);
      room = limitBytes;
    }
    room -= sized.bytes;
  }
  return stretches;
};

export type SqliteStoreNeeds = {
  /** A path. The file and its directory are made when they are not there, for their owner alone. */
  readonly file: string;
  readonly ids: Ids;
  /** Of events no more than this is kept, and at times an eighth of it more (256 MiB). */
  readonly eventLimitBytes?: number;
  /** How long a commit may wait for another process that writes (10 s). Then it fails. */
  readonly busyLimitMs?: number;
  /** Any clock that only goes on. */
  readonly nowMs?: () => number;
};

const EVENT_LIMIT_BYTES = 256 * 1024 * 1024;
/** How old what the disk has of a growing part may be. */
const GROWING_EVERY_MS = 1000;
const BUSY_LIMIT_MS = 10_000;
/** How much of a session is read at a stretch: nothing else goes on meanwhile. */
const STRETCH_BYTES = 4 * 1024 * 1024;

/**
 * A store in one SQLite file: what is committed survives a power cut. A `ConfigError` says what is wrong with the file. It
 * is meant for one server: a second process may read and write it too, and waits its turn, but no store hears of the
 * events that another one took, and a server that starts would take the answers of one that runs for abandoned.
 */
export const openSqliteStore = async ({
  file,
  ids,
  eventLimitBytes = EVENT_LIMIT_BYTES,
  busyLimitMs = BUSY_LIMIT_MS,
  nowMs = () => performance.now(),
}: SqliteStoreNeeds): Promise<Store> => {
  const database = await openDatabase(file);
  const statement = createStatements(database);
  const queue = createWriteQueue(database, busyLimitMs);
  const growing = createGrowing(nowMs, GROWING_EVERY_MS);
  const writes = createSqliteWrites({ statement, ids, eventLimitBytes });
  const reads = createSqliteReads(statement, growing.newest);
  let isClosed = false;
  const refuseWhenClosed = (): void => {
    if (isClosed) throw new Error('Cannot use the store: it is closed');
  };
  /** What one statement reads is of one moment anyway. */
  const read = async <T>(question: () => T): Promise<T> => {
    refuseWhenClosed();
    return question();
  };
  const readTogether = <T>(question: () => T): Promise<T> => read(() => inTransaction(database, 'DEFERRED', question));
  return {
    async commit(changes, events) {
      refuseWhenClosed();
      const spared = new Set(changes.filter(growing.isSpared));
      const placed = await queue.add(() => {
        for (const change of changes) writes.apply(change, spared.has(change));
        return writes.addEvents(events);
      });
      growing.keep(changes, spared);
      return placed;
    },
    session: (id) => read(() => reads.session(id)),
    sessions: (asked) => read(() => reads.sessions(asked)),
    sessionOutlines: () => read(() => reads.sessionOutlines()),
    async messages(sessionID, asked = {}) {
      const spanOf = (stretch: readonly Sized[]): readonly Told[] =>
        reads.span(sessionID, stretch[0]?.id ?? '', stretch.at(-1)?.id ?? '');
      // What is not very large is read at once, and of one moment.
      const { told, further } = await readTogether(() => {
        const [first = [], ...more] = stretchesOf(reads.outline(sessionID, asked), STRETCH_BYTES);
        return { told: [...spanOf(first)], further: more };
      });
      for (const stretch of further) {
        await new Promise<void>((resolve) => void setImmediate(resolve));
        told.push(...(await readTogether(() => spanOf(stretch))));
      }
      return told;
    },
    outline: (sessionID, asked = {}) => read(() => reads.outline(sessionID, asked)),
    message: (sessionID, messageID) => readTogether(() => reads.message(sessionID, messageID)),
    output: (sessionID, partID) => read(() => reads.output(sessionID, partID)),
    unfinished: () => readTogether(() => reads.unfinished()),
    events: (asked) => read(() => reads.events(asked)),
    eventSpan: () => read(() => reads.eventSpan()),
    async pruneEvents(keep) {
      refuseWhenClosed();
      return queue.add(() => writes.prune(keep));
    },
    async close() {
      if (isClosed) return;
      isClosed = true;
      // What grew last is not on the disk yet.
      for (const part of growing.parts()) queue.add(() => writes.apply({ kind: 'part', part }, false)).catch(() => {});
      queue.finish();
      database.close();
    },
  };
};
