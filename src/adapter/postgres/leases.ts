import type { SessionStatus } from '../../agent/protocol/types.ts';
import type { Lease, Leases } from '../../agent/store/cluster.ts';
import { LeaseLost, StoreUnavailable } from '../../agent/store/errors.ts';

import { textIn } from '../stored-rows.ts';
import type { PostgresLink } from './connection.ts';
import { isHomeless } from './errors.ts';
import type { Seat } from './membership.ts';
import type { NewsChannel } from './notifications.ts';

export type LeasesNeeds = { readonly link: PostgresLink; readonly seat: Seat; readonly news: NewsChannel };

type Ticket = {
  readonly seq: string;
  readonly sessionID: string;
  readonly onLost: () => void;
  wake: () => void;
  isWaiting: boolean;
};

export type PostgresLeases = Leases & {
  /** Somebody left a session, or may have: whoever waits for it looks again. */
  readonly onLeft: (sessionID: string | undefined) => void;
  /** Sessions in which this server is asked to end what it does. */
  readonly toEnd: () => Promise<readonly string[]>;
  /** Tickets of this server: those whose turn it is, and those that wait. */
  readonly counts: () => { readonly held: number; readonly awaited: number };
  /** Gives back what could not be given back before, and what this server has without knowing of it. */
  readonly retry: () => Promise<void>;
};

const LOOK_EVERY_MS = 1000;

/** Leases of sessions as tickets in the database: of those of one session the oldest is the one that counts. */
export const createPostgresLeases = ({ link, seat, news }: LeasesNeeds): PostgresLeases => {
  const { ask } = link;
  const tickets = new Map<string, Ticket>();
  const leaving = new Set<string>();
  let taking = 0;
  const watchers = new Set<{ readonly sessionID: string; readonly wake: () => void }>();
  seat.onLost(() => {
    const lost = [...tickets.values()];
    tickets.clear();
    leaving.clear();
    for (const { onLost, wake } of lost) {
      onLost();
      wake();
    }
  });

  const take = async (sessionID: string, onLost: () => void): Promise<Ticket> => {
    const id = seat.id();
    taking += 1;
    try {
      const [row] = await ask((sql) => sql`SELECT take_ticket(${sessionID}, ${id})::text AS seq`);
      const ticket: Ticket = { seq: textIn(row, 'seq'), sessionID, onLost, wake: () => {}, isWaiting: true };
      tickets.set(ticket.seq, ticket);
      return ticket;
    } catch (error) {
      throw isHomeless(error) ? await seat.lost(id) : error;
    } finally {
      taking -= 1;
    }
  };
  /** False as well while the database is away: it may be asked at the next look. */
  const isFirst = async ({ seq, sessionID }: Ticket): Promise<boolean> => {
    const rows = await ask(
      (sql) =>
        sql`SELECT seq::text FROM ticket WHERE session_id = ${sessionID} AND seq <= ${seq}::bigint ORDER BY ticket.seq`,
    ).catch(() => undefined);
    // Others have taken this server for dead, which it may not know yet.
    if (rows !== undefined && rows.at(-1)?.seq !== seq) throw new LeaseLost();
    return rows?.length === 1;
  };
  const hasLeftovers = async (sessionID: string): Promise<boolean> => {
    const [row] = await ask(
      (sql) => sql`SELECT EXISTS (SELECT 1 FROM message WHERE session_id = ${sessionID} AND is_unfinished) AS has_some`,
    );
    return row?.has_some === true;
  };
  /** Settles when something has changed, or after a while. */
  const change = (watch: (wake: () => void) => () => void): Promise<void> =>
    new Promise((resolve) => {
      const end = () => {
        clearTimeout(timer);
        unwatch();
        resolve();
      };
      const timer = setTimeout(end, LOOK_EVERY_MS);
      const unwatch = watch(end);
    });
  const turnOf = async (ticket: Ticket): Promise<void> => {
    for (;;) {
      const changed = change((wake) => {
        ticket.wake = wake;
        return () => {
          ticket.wake = () => {};
        };
      });
      if (!tickets.has(ticket.seq)) throw await seat.lost('');
      if (link.isClosed()) throw new StoreUnavailable();
      if (await isFirst(ticket)) return ticket.wake();
      await changed;
    }
  };
  const giveBack = async (seq: string): Promise<void> => {
    const id = seat.id();
    await ask(
      (sql) => sql`
        WITH gone AS (DELETE FROM ticket WHERE seq = ${seq}::bigint RETURNING session_id)
        SELECT pg_notify(${link.schema}, json_build_object('kind', 'ticket', 'from', ${id}::text, 'about', session_id)::text)
        FROM gone WHERE EXISTS (SELECT 1 FROM server WHERE id <> ${id})`,
    );
    leaving.delete(seq);
  };
  const leave = async ({ seq, sessionID }: Ticket): Promise<void> => {
    if (!tickets.delete(seq)) return;
    leaving.add(seq);
    // The beat gives it back when the database is away now.
    await giveBack(seq).catch(() => {});
    onLeft(sessionID);
  };
  const onLeft = (sessionID: string | undefined): void => {
    for (const ticket of tickets.values()) if (sessionID === undefined || ticket.sessionID === sessionID) ticket.wake();
    for (const watcher of watchers) if (sessionID === undefined || watcher.sessionID === sessionID) watcher.wake();
  };
  const leaseOf = (ticket: Ticket, isLeftOver: boolean): Lease => ({
    id: ticket.seq,
    hasLeftovers: isLeftOver,
    async isAwaited() {
      const { seq, sessionID } = ticket;
      const [row] = await ask(
        (sql) => sql`
          SELECT EXISTS (
            SELECT 1 FROM ticket WHERE session_id = ${sessionID} AND seq > ${seq}::bigint AND server_id <> ${seat.id()}
          ) AS is_awaited`,
      );
      return row?.is_awaited === true;
    },
    async show(status) {
      await ask((sql) => sql`UPDATE ticket SET status = ${JSON.stringify(status)} WHERE seq = ${ticket.seq}::bigint`);
    },
    leave: () => leave(ticket),
  });
  return {
    async enter(sessionID, onLost) {
      const ticket = await take(sessionID, onLost);
      try {
        await turnOf(ticket);
        ticket.isWaiting = false;
        return leaseOf(ticket, await hasLeftovers(sessionID));
      } catch (error) {
        await leave(ticket);
        throw error;
      }
    },
    async abort(sessionID) {
      const id = seat.id();
      const rows = await ask(
        (sql) => sql`
          UPDATE ticket SET is_to_end = true WHERE session_id = ${sessionID} AND server_id <> ${id} RETURNING seq::text`,
      );
      if (rows.length === 0) return;
      await news.tell({ kind: 'end', from: id, about: sessionID });
      const seqs = JSON.stringify(rows.map((row) => textIn(row, 'seq')));
      for (;;) {
        const changed = change((wake) => {
          const watcher = { sessionID, wake };
          watchers.add(watcher);
          return () => void watchers.delete(watcher);
        });
        const [row] = await ask(
          (sql) => sql`
            SELECT EXISTS (
              SELECT 1 FROM ticket WHERE seq::text IN (SELECT value FROM json_array_elements_text(${seqs}::text::json))
            ) AS is_there`,
        );
        if (row?.is_there !== true) return onLeft(sessionID);
        await changed;
      }
    },
    async statuses() {
      const rows = await ask(
        (sql) => sql`
          SELECT DISTINCT ON (session_id) session_id, status FROM ticket
          WHERE server_id <> ${seat.id()} ORDER BY session_id, seq`,
      );
      return Object.fromEntries(
        rows.map((row): [string, SessionStatus] => [textIn(row, 'session_id'), JSON.parse(textIn(row, 'status'))]),
      );
    },
    async free(sessionIDs) {
      const rows = await ask((sql) => sql`SELECT DISTINCT session_id FROM ticket`);
      const held = new Set(rows.map((row) => textIn(row, 'session_id')));
      return sessionIDs.filter((id) => !held.has(id));
    },
    onLeft,
    async toEnd() {
      const rows = await ask(
        (sql) => sql`SELECT DISTINCT session_id FROM ticket WHERE server_id = ${seat.id()} AND is_to_end`,
      );
      return rows.map((row) => textIn(row, 'session_id'));
    },
    counts() {
      const all = [...tickets.values()];
      const awaited = all.filter(({ isWaiting }) => isWaiting).length;
      return { held: all.length - awaited, awaited };
    },
    async retry() {
      for (const seq of [...leaving]) await giveBack(seq);
      const rows = await ask((sql) => sql`SELECT seq::text FROM ticket WHERE server_id = ${seat.id()}`);
      // The number of one was lost with the connection: it would hold its session until this server ends.
      const strays = rows.map((row) => textIn(row, 'seq')).filter((seq) => !tickets.has(seq));
      if (taking === 0) for (const seq of strays) await giveBack(seq);
    },
  };
};
