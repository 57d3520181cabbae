import type { SessionStatus } from '../../../protocol/types.ts';
import type { Leases, SessionLease } from '../../../store/cluster.ts';
import { LeaseLostError, StoreUnavailableError } from '../../../store/errors.ts';
import { columnText } from '../../sql-store.ts';
import type { PostgresConnection } from '../connection.ts';
import { isForeignKeyViolation } from '../errors.ts';
import type { Membership } from '../membership.ts';
import type { NotificationChannel } from '../notifications.ts';
import { createTicketRequests, type SessionTicket } from './ticket-requests.ts';

type LeasesParts = {
  readonly connection: PostgresConnection;
  readonly membership: Membership;
  readonly channel: NotificationChannel;
};

type PostgresLeases = Leases & {
  /** A session was released, or may have been (any session if undefined): waiting callers check again. */
  readonly onReleased: (sessionID: string | undefined) => void;
  /** What another server has asked this one to abort: prompts of a session, or all of it where none is named. */
  readonly marked: () => Promise<readonly { readonly sessionID: string; readonly promptIDs: readonly string[] }[]>;
  /** The number of this server's tickets that hold their session, and that wait for it. */
  readonly counts: () => { readonly held: number; readonly awaited: number };
  /** Deletes tickets that could not be deleted before, and those of this server that it does not know of. */
  readonly retry: () => Promise<void>;
};

const CHECK_EVERY_MS = 1000;

/** Leases of sessions as tickets in the database: the oldest ticket of a session holds it. */
export const createPostgresLeases = ({ connection, membership, channel }: LeasesParts): PostgresLeases => {
  const { query } = connection;
  const tickets = new Map<string, SessionTicket>();
  const unreleased = new Set<string>();
  /** Sessions whose tickets are being taken, once for each. */
  const taking: string[] = [];
  const requests = createTicketRequests({
    isTaking: (sessionID) => taking.includes(sessionID),
    hold: (ticket) => void tickets.set(ticket.seq, ticket),
    release: (ticket) => release(ticket),
  });
  const watchers = new Set<{ readonly sessionID: string; readonly wake: () => void }>();
  membership.onLost(() => {
    const lost = [...tickets.values()];
    tickets.clear();
    unreleased.clear();
    for (const { onLost, wake } of lost) {
      onLost();
      wake();
    }
  });

  const takeTicket = async (sessionID: string, onLost: () => void): Promise<SessionTicket> => {
    const id = membership.serverID();
    try {
      const [row] = await query(
        (sql) => sql`SELECT taken::text AS seq, is_first FROM queue_ticket(${sessionID}, ${id})`,
      );
      const seq = columnText(row, 'seq');
      const ticket: SessionTicket = { seq, sessionID, onLost, wake: () => {}, isWaiting: row?.is_first !== true };
      tickets.set(ticket.seq, ticket);
      return ticket;
    } catch (error) {
      throw isForeignKeyViolation(error) ? await membership.rejoin(id) : error;
    }
  };
  /** The ticket that a prompt's commit has taken, or a new one. */
  const claimOrTake = async (sessionID: string, onLost: () => void): Promise<SessionTicket> => {
    // From the first moment: a request that begins meanwhile could get the older ticket.
    taking.push(sessionID);
    try {
      const requested = await requests.claim(sessionID);
      // It may have been lost meanwhile, with this server's membership.
      const held = requested && tickets.get(requested.seq);
      return held ?? (await takeTicket(sessionID, onLost));
    } finally {
      taking.splice(taking.indexOf(sessionID), 1);
    }
  };
  /** Also false while the database is unavailable: the next check asks again. */
  const isFirst = async ({ seq, sessionID }: SessionTicket): Promise<boolean> => {
    const rows = await query(
      (sql) =>
        sql`SELECT seq::text FROM ticket WHERE session_id = ${sessionID} AND seq <= ${seq}::bigint ORDER BY ticket.seq`,
    ).catch(() => undefined);
    // Other servers took this one for dead, and it may not know that yet.
    if (rows !== undefined && rows.at(-1)?.seq !== seq) throw new LeaseLostError();
    return rows?.length === 1;
  };
  /** Settles when something has changed, and after `CHECK_EVERY_MS` at the latest. */
  const waitForChange = (watch: (wake: () => void) => () => void): Promise<void> =>
    new Promise((resolve) => {
      const end = () => {
        clearTimeout(timer);
        unwatch();
        resolve();
      };
      const timer = setTimeout(end, CHECK_EVERY_MS);
      const unwatch = watch(end);
    });
  const waitForTurn = async (ticket: SessionTicket): Promise<void> => {
    for (;;) {
      const changed = waitForChange((wake) => {
        ticket.wake = wake;
        return () => {
          ticket.wake = () => {};
        };
      });
      if (!tickets.has(ticket.seq)) throw await membership.rejoin('');
      if (connection.isClosed()) throw new StoreUnavailableError();
      if (await isFirst(ticket)) return ticket.wake();
      await changed;
    }
  };
  const deleteTicket = async (seq: string): Promise<void> => {
    const id = membership.serverID();
    await query((sql) => sql`SELECT release_ticket(${seq}::bigint, ${id})`);
    unreleased.delete(seq);
  };
  const release = async ({ seq, sessionID }: SessionTicket): Promise<void> => {
    if (!tickets.delete(seq)) return;
    unreleased.add(seq);
    // If the database is unavailable now, a heartbeat deletes it later.
    await deleteTicket(seq).catch(() => {});
    onReleased(sessionID);
  };
  const onReleased = (sessionID: string | undefined): void => {
    for (const ticket of tickets.values()) if (sessionID === undefined || ticket.sessionID === sessionID) ticket.wake();
    for (const watcher of watchers) if (sessionID === undefined || watcher.sessionID === sessionID) watcher.wake();
  };
  const toLease = (ticket: SessionTicket): SessionLease => ({
    id: ticket.seq,
    untouchedSince: ticket.untouchedSince,
    async isAwaited() {
      const { seq, sessionID } = ticket;
      const [row] = await query(
        (sql) => sql`
          SELECT EXISTS (
            SELECT 1 FROM ticket WHERE session_id = ${sessionID} AND seq > ${seq}::bigint AND server_id <> ${membership.serverID()}
          ) AS is_awaited`,
      );
      return row?.is_awaited === true;
    },
    async showStatus(status) {
      await query((sql) => sql`UPDATE ticket SET status = ${JSON.stringify(status)} WHERE seq = ${ticket.seq}::bigint`);
    },
    release: () => release(ticket),
  });
  return {
    async acquire(sessionID, onLost) {
      const ticket = await claimOrTake(sessionID, onLost);
      ticket.onLost = onLost;
      try {
        if (ticket.isWaiting) await waitForTurn(ticket);
        ticket.isWaiting = false;
        return toLease(ticket);
      } catch (error) {
        await release(ticket);
        throw error;
      }
    },
    whileRequested: requests.whileRequested,
    async abort(sessionID, promptID) {
      const id = membership.serverID();
      const rows = await query((sql) =>
        promptID === undefined
          ? sql`UPDATE ticket SET to_end = '{}' WHERE session_id = ${sessionID} AND server_id <> ${id} RETURNING seq::text`
          : sql`
              UPDATE ticket SET to_end = CASE WHEN to_end = '{}' THEN to_end ELSE array_append(to_end, ${promptID}::text) END
              WHERE session_id = ${sessionID} AND server_id <> ${id} RETURNING seq::text`,
      );
      if (rows.length === 0) return;
      await channel.publish({ kind: 'end', from: id });
      const seqs = JSON.stringify(rows.map((row) => columnText(row, 'seq')));
      for (;;) {
        const changed = waitForChange((wake) => {
          const watcher = { sessionID, wake };
          watchers.add(watcher);
          return () => void watchers.delete(watcher);
        });
        const [row] = await query(
          (sql) => sql`
            SELECT EXISTS (
              SELECT 1 FROM ticket WHERE seq::text IN (SELECT value FROM json_array_elements_text(${seqs}::text::json))
            ) ${promptID === undefined ? sql`` : sql`AND EXISTS (SELECT 1 FROM owed WHERE message_id = ${promptID})`} AS is_there`,
        );
        if (row?.is_there !== true) return onReleased(sessionID);
        await changed;
      }
    },
    async statuses() {
      const rows = await query(
        (sql) => sql`
          SELECT DISTINCT ON (session_id) session_id, status FROM ticket
          WHERE server_id <> ${membership.serverID()} ORDER BY session_id, seq`,
      );
      return Object.fromEntries(
        rows.map((row): [string, SessionStatus] => [
          columnText(row, 'session_id'),
          JSON.parse(columnText(row, 'status')),
        ]),
      );
    },
    async withoutOwner(sessionIDs) {
      const rows = await query((sql) => sql`SELECT DISTINCT session_id FROM ticket`);
      const held = new Set(rows.map((row) => columnText(row, 'session_id')));
      return sessionIDs.filter((id) => !held.has(id));
    },
    onReleased,
    async marked() {
      const rows = await query(
        (sql) => sql`
          SELECT DISTINCT session_id, array_to_json(to_end)::text AS ids FROM ticket
          WHERE server_id = ${membership.serverID()} AND to_end IS NOT NULL`,
      );
      return rows.map((row) => ({
        sessionID: columnText(row, 'session_id'),
        promptIDs: JSON.parse(columnText(row, 'ids')),
      }));
    },
    counts() {
      const all = [...tickets.values()];
      const awaited = all.filter(({ isWaiting }) => isWaiting).length;
      return { held: all.length - awaited, awaited };
    },
    async retry() {
      for (const seq of [...unreleased]) await deleteTicket(seq);
      const rows = await query(
        (sql) => sql`SELECT seq::text, session_id FROM ticket WHERE server_id = ${membership.serverID()}`,
      );
      // The reply with the ticket's number was lost with its connection: it would hold its session until this server ends.
      const strays = rows
        .map((row) => ({ seq: columnText(row, 'seq'), sessionID: columnText(row, 'session_id') }))
        .filter(
          ({ seq, sessionID }) => !tickets.has(seq) && !taking.includes(sessionID) && !requests.isUnderWay(sessionID),
        );
      for (const { seq } of strays) await deleteTicket(seq);
    },
  };
};
