import type { Store } from '../../store/store.ts';
import { createGrowingParts } from '../sql-store.ts';
import { createCommitQueue } from './commit-queue.ts';
import type { PostgresConnection } from './connection.ts';
import { isTransactionConflict } from './errors.ts';
import { createEventTail, type EventTail } from './event-tail.ts';
import { joinCluster, type Membership } from './membership.ts';
import { createNotificationChannel, type NotificationChannel } from './notifications.ts';
import { pruneEvents } from './prune.ts';
import { createPostgresDecisions } from './queries/decisions.ts';
import { createPostgresReads } from './queries/reads.ts';
import { createPostgresTurnReads } from './queries/turns.ts';

type PostgresStoreOptions = {
  readonly connection: PostgresConnection;
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
  readonly tail: Pick<EventTail, 'listen' | 'check'>;
  readonly channel: NotificationChannel;
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
  newServerID,
  aliveMs,
  eventLimitBytes: limitBytes = EVENT_LIMIT_BYTES,
  awayLimitMs: limitMs = AWAY_LIMIT_MS,
}: PostgresStoreOptions): Promise<SharedStore> => {
  const membership = await joinCluster(connection, { newID: newServerID, aliveMs });
  const growing = createGrowingParts(() => performance.now(), GROWING_EVERY_MS);
  const reads = createPostgresReads(connection, growing.newest);
  const decisions = createPostgresDecisions(connection);
  const turns = createPostgresTurnReads(connection);
  let isClosed = false;
  const tail = createEventTail({ reads, from: await reads.settledGroup(), isClosing: connection.isClosed });
  const channel = createNotificationChannel(connection);
  const queue = createCommitQueue({ connection, membership, channel, tail, limitMs });
  /** A removal of a session may delete the same events in another order, and one of the two has to begin again. */
  const prune = async (keep: number): Promise<void> => {
    for (;;) {
      try {
        return await connection.query((sql) => pruneEvents(sql, { keep, limitBytes }), PRUNE_LIMIT_MS);
      } catch (error) {
        if (!isTransactionConflict(error)) throw error;
      }
    }
  };
  const open = <Given extends readonly unknown[], T>(work: (...given: Given) => Promise<T>) => {
    return async (...given: Given): Promise<T> => {
      if (isClosed) throw new Error('Cannot use the store: it is closed');
      return work(...given);
    };
  };
  const store: Store = {
    commit: open(async (changes, events, leaseID, leaseRequest) => {
      const deferred = new Set(changes.filter(growing.isDeferred));
      const placed = await queue.add({ changes, deferred, events, leaseID, leaseRequest });
      growing.record(changes, deferred);
      return placed;
    }),
    session: open(reads.session),
    sessionsByID: open(reads.sessionsByID),
    sessions: open(reads.sessions),
    sessionOutlines: open(reads.sessionOutlines),
    awaitingSessions: open(reads.awaitingSessions),
    messages: open((sessionID, selection = {}) => reads.messages(sessionID, selection)),
    messageOutlines: open((sessionID, selection = {}) => reads.outline(sessionID, selection)),
    messageHeads: open((sessionID, selection = {}) => reads.heads(sessionID, selection)),
    message: open(reads.message),
    output: open(reads.output),
    unfinished: open(reads.unfinished),
    owed: open((sessionID?: string) => reads.owed(sessionID)),
    events: open(reads.events),
    permissionEvents: open(reads.permissionEvents),
    eventSpan: open(reads.eventSpan),
    decision: open(decisions.decision),
    decisions: open(decisions.decisions),
    recordDecision: open(decisions.recordDecision),
    turns: {
      turn: open(turns.turn),
      byKey: open(turns.byKey),
      byDigest: open(turns.byDigest),
      ofConversation: open(turns.ofConversation),
      ofPrompt: open(turns.ofPrompt),
      due: open(turns.due),
      conversation: open(turns.conversation),
      conversationByName: open(turns.conversationByName),
      chainOf: open(turns.chainOf),
      chains: open(turns.chains),
    },
    pruneEvents: open(prune),
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
  return { store, membership, tail, channel };
};
