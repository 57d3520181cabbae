import type { Ids } from '../agent/ids.ts';
import type { Store } from '../agent/store.ts';
import { openDatabase } from './sqlite-file.ts';
import { createWriteQueue } from './sqlite-queue.ts';
import { createSqliteReads } from './sqlite-reads.ts';
import { createStatements } from './sqlite-rows.ts';
import { inTransaction } from './sqlite-transaction.ts';
import { createSqliteWrites } from './sqlite-writes.ts';

export type SqliteStoreNeeds = {
  /** A path. The file and its directory are made when they are not there, for their owner alone. */
  readonly file: string;
  readonly ids: Ids;
};

/**
 * A store in one SQLite file: what is committed survives a power cut. A `ConfigError` says what is wrong with the file. It
 * is meant for one server: a second process may read and write it too, and waits its turn, but no store hears of the
 * events that another one took, and a server that starts would take the answers of one that runs for abandoned.
 */
export const openSqliteStore = async ({ file, ids }: SqliteStoreNeeds): Promise<Store> => {
  const database = await openDatabase(file);
  const statement = createStatements(database);
  const queue = createWriteQueue(database);
  const writes = createSqliteWrites(statement, ids);
  const reads = createSqliteReads(statement);
  let isClosed = false;
  const refuseWhenClosed = (): void => {
    if (isClosed) throw new Error('Cannot use the store: it is closed');
  };
  const write = async <T>(task: () => T): Promise<T> => {
    refuseWhenClosed();
    return queue.add(task);
  };
  /** What one statement reads is of one moment anyway. */
  const read = async <T>(question: () => T): Promise<T> => {
    refuseWhenClosed();
    return question();
  };
  const readTogether = <T>(question: () => T): Promise<T> => read(() => inTransaction(database, 'DEFERRED', question));
  return {
    commit: (changes, events) =>
      write(() => {
        for (const change of changes) writes.apply(change);
        return writes.addEvents(events);
      }),
    session: (id) => read(() => reads.session(id)),
    sessions: (asked) => read(() => reads.sessions(asked)),
    messages: (sessionID, asked = {}) => readTogether(() => reads.messages(sessionID, asked)),
    message: (sessionID, messageID) => readTogether(() => reads.message(sessionID, messageID)),
    output: (sessionID, partID) => read(() => reads.output(sessionID, partID)),
    unfinished: () => readTogether(() => reads.unfinished()),
    events: (asked) => read(() => reads.events(asked)),
    pruneEvents: (keep) => write(() => writes.prune(keep)),
    async close() {
      if (isClosed) return;
      isClosed = true;
      queue.flush();
      database.close();
    },
  };
};
