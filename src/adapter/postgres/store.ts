import type { Ids } from '../../agent/protocol/ids.ts';
import type { DirectoryEvent, Store } from '../../agent/store/store.ts';
import { createGrowingParts } from '../sql-store.ts';
import { createCommitQueue } from './commit-queue.ts';
import type { PostgresConnection } from './connection.ts';
import { joinCluster, type Membership } from './membership.ts';
import { createPostgresReads, pruneEvents } from './reads.ts';

const PAGE = { limit: 500, limitBytes: 4 * 1024 * 1024 };
const RETRY_AFTER_MS = 200;

type TailNeeds = {
  readonly reads: Pick<ReturnType<typeof createPostgresReads>, 'events'>;
  /** The id of the newest event when this server started. */
  readonly from: string;
  readonly isClosing: () => boolean;
};

/**
 * Reads the events that other servers have stored. The caller of `commit` publishes this server's own events; the tail calls
 * its listener with the events of others that precede an own one, before the commit of that one settles.
 */
const createEventTail = ({ reads, from, isClosing }: TailNeeds) => {
  let last = from;
  let onEvents: ((placed: readonly DirectoryEvent[]) => void) | undefined;
  /** Passes on the events after the last one that was passed on, up to the id `upTo` or all of them. */
  const readNext = async (upTo: string | undefined): Promise<void> => {
    for (;;) {
      const page = await reads.events({ afterID: last, ...PAGE });
      const events = upTo === undefined ? page : page.filter(({ event }) => event.id <= upTo);
      if (events.length > 0) onEvents?.(events);
      last = events.at(-1)?.event.id ?? last;
      if (events.length < page.length || page.length === 0) return;
    }
  };
  /** Retries until it succeeds: events that are skipped now would arrive out of order. */
  const readWithRetries = async (upTo: string | undefined): Promise<void> => {
    while (!isClosing()) {
      try {
        return await readNext(upTo);
      } catch {
        await new Promise((resolve) => setTimeout(resolve, RETRY_AFTER_MS));
      }
    }
  };
  return {
    listen(listener: (placed: readonly DirectoryEvent[]) => void): void {
      onEvents = listener;
    },
    async onCommitted({
      after,
      placed,
    }: {
      readonly after: string;
      readonly placed: readonly DirectoryEvent[];
    }): Promise<void> {
      if (after > last) await readWithRetries(after);
      last = placed.at(-1)?.event.id ?? last;
    },
    onCheck: () => readWithRetries(undefined),
  };
};

type PostgresStoreOptions = {
  readonly connection: PostgresConnection;
  readonly ids: Ids;
  readonly newServerID: () => string;
  /** A server without a heartbeat for so long is dead. */
  readonly aliveMs: number;
  /** The limit for stored events, applied by `pruneEvents` (256 MiB). */
  readonly eventLimitBytes?: number;
  /** How long a commit waits for an unavailable database before it fails (20 s). */
  readonly awayLimitMs?: number;
};

/** A store that several servers share, and this server's part in their cluster. */
export type SharedStore = {
  readonly store: Store;
  readonly membership: Membership;
  readonly tail: Pick<ReturnType<typeof createEventTail>, 'listen'>;
  /** Has the tail read events that other servers may have stored. */
  readonly checkForEvents: () => void;
};

const EVENT_LIMIT_BYTES = 256 * 1024 * 1024;
const AWAY_LIMIT_MS = 20_000;
/** Pruning a large table takes long. */
const PRUNE_LIMIT_MS = 600_000;
/** How old the stored state of a growing part may be. Other servers see only that. */
const GROWING_EVERY_MS = 250;

/**
 * Opens a store in PostgreSQL, for several servers. A commit settles once it is on the database's disk. While the database is
 * unavailable, commits wait and reads fail with a `StoreUnavailable`.
 */
export const openPostgresStore = async ({
  connection,
  ids,
  newServerID,
  aliveMs,
  eventLimitBytes: limitBytes = EVENT_LIMIT_BYTES,
  awayLimitMs: limitMs = AWAY_LIMIT_MS,
}: PostgresStoreOptions): Promise<SharedStore> => {
  const membership = await joinCluster(connection, { newID: newServerID, aliveMs });
  const growing = createGrowingParts(() => performance.now(), GROWING_EVERY_MS);
  const reads = createPostgresReads(connection, growing.newest);
  let isClosed = false;
  const tail = createEventTail({ reads, from: (await reads.eventSpan()).newest, isClosing: connection.isClosed });
  const queue = createCommitQueue({
    connection,
    membership,
    ids,
    limitMs,
    onCommitted: tail.onCommitted,
    onCheck: tail.onCheck,
  });
  const open = <Given extends readonly unknown[], T>(work: (...given: Given) => Promise<T>) => {
    return async (...given: Given): Promise<T> => {
      if (isClosed) throw new Error('Cannot use the store: it is closed');
      return work(...given);
    };
  };
  const store: Store = {
    commit: open(async (changes, events, leaseID) => {
      const deferred = new Set(changes.filter(growing.isDeferred));
      const placed = await queue.add({ changes, deferred, events, leaseID });
      growing.record(changes, deferred);
      return placed;
    }),
    session: open(reads.session),
    sessions: open(reads.sessions),
    sessionOutlines: open(reads.sessionOutlines),
    messages: open((sessionID, selection = {}) => reads.messages(sessionID, selection)),
    messageOutlines: open((sessionID, selection = {}) => reads.outline(sessionID, selection)),
    messageHeads: open((sessionID, selection = {}) => reads.heads(sessionID, selection)),
    message: open(reads.message),
    output: open(reads.output),
    unfinished: open(reads.unfinished),
    owed: open((sessionID?: string) => reads.owed(sessionID)),
    events: open(reads.events),
    eventSpan: open(reads.eventSpan),
    pruneEvents: open((keep) => connection.query((sql) => pruneEvents(sql, { keep, limitBytes }), PRUNE_LIMIT_MS)),
    async close() {
      if (isClosed) return;
      // The newest state of growing parts is not in the database yet.
      for (const part of growing.parts()) {
        queue
          .add({ changes: [{ kind: 'part', part }], deferred: new Set(), events: [], leaseID: undefined })
          .catch(() => {});
      }
      await queue.finish();
      isClosed = true;
      await membership.leave().catch(() => {});
      await connection.close();
    },
  };
  return { store, membership, tail, checkForEvents: queue.check };
};
