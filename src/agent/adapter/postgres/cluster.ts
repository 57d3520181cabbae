import type { PeerListener, Peers } from '../../store/cluster.ts';
import { columnText } from '../sql-store.ts';
import { createPostgresApprovals } from './approvals.ts';
import type { PostgresConnection } from './connection.ts';
import { createPostgresLeases } from './leases/leases.ts';
import type { ClusterNotification } from './notifications.ts';
import type { SharedStore } from './store.ts';

/** How often a server sends a heartbeat, and how long without one it counts as alive. */
export type HeartbeatTimes = { readonly beatMs: number; readonly aliveMs: number };

type ClusterParts = {
  readonly connection: PostgresConnection;
  readonly shared: Pick<SharedStore, 'membership' | 'tail' | 'channel'>;
  readonly times: HeartbeatTimes;
  /** Called for each heartbeat that fails: for all of them while the database is unavailable. */
  readonly onError: (error: unknown) => void;
};

/**
 * The other servers on one PostgreSQL database. The database is the source of truth; notifications only make servers read it
 * before their next heartbeat. A server without heartbeats counts as dead, and nothing that it writes is stored from then on.
 */
export const createPostgresCluster = ({
  connection,
  shared: { membership, tail, channel },
  times: { beatMs, aliveMs },
  onError,
}: ClusterParts): Peers & { readonly close: () => Promise<void> } => {
  const { query } = connection;
  const leases = createPostgresLeases({ connection, membership, channel });
  const approvals = createPostgresApprovals({ connection, membership, channel });
  let healthySince: number | undefined;
  let servers = 1;
  let aliveAt = 0;
  let notifiedAt = 0;
  let timer: NodeJS.Timeout | undefined;
  let isClosed = false;

  const abortMarked = async ({ onAbort }: PeerListener): Promise<void> => {
    for (const { sessionID, promptIDs } of await leases.marked()) {
      if (promptIDs.length === 0) onAbort(sessionID);
      else for (const promptID of promptIDs) onAbort(sessionID, promptID);
    }
  };
  const onNotification = (own: PeerListener, { kind, from, about }: ClusterNotification): void => {
    notifiedAt = performance.now();
    if (from === membership.serverID()) return;
    if (kind === 'events') tail.check();
    if (kind === 'ticket') leases.onReleased(about);
    if (kind === 'end') abortMarked(own).catch(onError);
    if (kind === 'answer') approvals.deliverOutcomes().catch(onError);
  };
  /** Writes the heartbeat and returns its time by the database's clock, or undefined when the membership was lost. */
  const refreshMembership = async (): Promise<string | undefined> => {
    const id = membership.serverID();
    const rows = await query(
      (sql) => sql`UPDATE server SET seen_at = clock_timestamp() WHERE id = ${id} RETURNING seen_at::text`,
    );
    const [row] = rows;
    if (row === undefined) await membership.rejoin(id);
    const now = performance.now();
    // The connection may have stalled without an error, for the other servers as well.
    if (now - aliveAt > 2 * beatMs) healthySince = undefined;
    aliveAt = now;
    healthySince ??= now;
    return row === undefined ? undefined : columnText(row, 'seen_at');
  };
  /**
   * Takes over from dead servers: their leases go with their rows. After an outage all servers look dead, so only a server
   * that was healthy for the whole `aliveMs` decides. It compares with its own last heartbeat, not with the current time:
   * a stall after that heartbeat is no other server's failure.
   */
  const removeDeadServers = async (seenAt: string | undefined): Promise<void> => {
    if (seenAt === undefined || healthySince === undefined || performance.now() - healthySince < aliveMs) return;
    await query(
      (sql) =>
        sql`DELETE FROM server WHERE seen_at < ${seenAt}::text::timestamptz - make_interval(secs => ${aliveMs / 1000})`,
    );
  };
  const hasAbandonedSessions = async (): Promise<boolean> => {
    const [row] = await query(
      (sql) => sql`
        SELECT (SELECT count(*)::int FROM server) AS servers, EXISTS (
          SELECT 1 FROM (
            SELECT session_id FROM message WHERE is_unfinished UNION ALL SELECT session_id FROM owed
          ) AS open_answer JOIN session ON session.id = open_answer.session_id AND NOT session.is_hidden
          WHERE NOT EXISTS (SELECT 1 FROM ticket WHERE ticket.session_id = open_answer.session_id)
        ) AS has_some`,
    );
    servers = Number(row?.servers);
    return row?.has_some === true;
  };
  const heartbeat = async (own: PeerListener): Promise<void> => {
    await removeDeadServers(await refreshMembership());
    await leases.retry();
    await approvals.deliverOutcomes();
    await abortMarked(own);
    leases.onReleased(undefined);
    tail.check();
    if (await hasAbandonedSessions()) own.onAbandoned();
    // This server's own notifications arrive too, and show that the listening connection works.
    if (!isClosed && performance.now() - notifiedAt > 3 * beatMs) {
      notifiedAt = performance.now();
      channel.listen((one) => onNotification(own, one));
    }
    await channel.publish({ kind: 'beat', from: membership.serverID() });
  };
  const runHeartbeat = async (own: PeerListener): Promise<void> => {
    try {
      await heartbeat(own);
    } catch (error) {
      healthySince = undefined;
      if (!isClosed) onError(error);
    }
    if (!isClosed) timer = setTimeout(() => void runHeartbeat(own), beatMs);
  };
  return {
    leases,
    permissionRequests: approvals,
    storeTrouble: connection.trouble,
    counts() {
      const { held, awaited } = leases.counts();
      return { leasesHeld: held, leasesAwaited: awaited, servers };
    },
    listen(own) {
      tail.listen(own.onEvents);
      notifiedAt = performance.now();
      channel.listen((one) => onNotification(own, one));
      timer = setTimeout(() => void runHeartbeat(own), beatMs);
    },
    async close() {
      isClosed = true;
      clearTimeout(timer);
      await channel.close();
    },
  };
};
