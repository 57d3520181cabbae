import type { PeerNews, Peers } from '../../agent/store/cluster.ts';
import { textIn } from '../stored-rows.ts';
import { createPostgresAsks } from './approvals.ts';
import type { PostgresLink } from './connection.ts';
import { createPostgresLeases } from './leases.ts';
import { createNews, type News } from './notifications.ts';
import type { SharedStore } from './store.ts';

/** How often a server shows that it is alive, and for how long it is believed. */
export type PeerTimes = { readonly beatMs: number; readonly aliveMs: number };

export type PostgresPeersNeeds = {
  readonly link: PostgresLink;
  readonly shared: Pick<SharedStore, 'seat' | 'tail' | 'look'>;
  readonly times: PeerTimes;
  /** Hears of a beat that failed. While the database is away many do. */
  readonly onTrouble: (error: unknown) => void;
};

/**
 * The other servers on one PostgreSQL. The database is the truth; what servers tell each other only makes them look sooner
 * than at their next beat. A server that is not heard of is taken for dead, and nothing that it does counts from then on.
 */
export const createPostgresPeers = ({
  link,
  shared: { seat, tail, look },
  times: { beatMs, aliveMs },
  onTrouble,
}: PostgresPeersNeeds): Peers & { readonly close: () => Promise<void> } => {
  const { ask } = link;
  const news = createNews(link);
  const leases = createPostgresLeases({ link, seat, news });
  const asks = createPostgresAsks({ link, seat, news });
  let wellSince: number | undefined;
  let servers = 1;
  let aliveAt = 0;
  let heardAt = 0;
  let timer: NodeJS.Timeout | undefined;
  let isClosed = false;

  const onNews = (own: PeerNews, { kind, from, about }: News): void => {
    heardAt = performance.now();
    if (from === seat.id()) return;
    if (kind === 'events') look();
    if (kind === 'ticket') leases.onLeft(about);
    if (kind === 'end' && about !== undefined) own.onAbort(about);
    if (kind === 'answer') asks.look().catch(onTrouble);
  };
  /** Answers with when that was, by the database's clock. */
  const showAlive = async (): Promise<string | undefined> => {
    const id = seat.id();
    const rows = await ask(
      (sql) => sql`UPDATE server SET seen_at = clock_timestamp() WHERE id = ${id} RETURNING seen_at::text`,
    );
    const [row] = rows;
    if (row === undefined) await seat.lost(id);
    const now = performance.now();
    // The way to the database may have stood still without a failure, for the others as well.
    if (now - aliveAt > 2 * beatMs) wellSince = undefined;
    aliveAt = now;
    wellSince ??= now;
    return row === undefined ? undefined : textIn(row, 'seen_at');
  };
  /**
   * Only who was well all the while may say that others were not: after an outage all look dead. What stands still after
   * this server was seen is nobody's fault either.
   */
  const buryDead = async (seenAt: string | undefined): Promise<void> => {
    if (seenAt === undefined || wellSince === undefined || performance.now() - wellSince < aliveMs) return;
    await ask(
      (sql) =>
        sql`DELETE FROM server WHERE seen_at < ${seenAt}::text::timestamptz - make_interval(secs => ${aliveMs / 1000})`,
    );
  };
  const hasAbandoned = async (): Promise<boolean> => {
    const [row] = await ask(
      (sql) => sql`
        SELECT (SELECT count(*)::int FROM server) AS servers, EXISTS (
          SELECT 1 FROM message JOIN session ON session.id = message.session_id AND NOT session.is_hidden
          WHERE message.is_unfinished AND NOT EXISTS (SELECT 1 FROM ticket WHERE ticket.session_id = message.session_id)
        ) AS has_some`,
    );
    servers = Number(row?.servers);
    return row?.has_some === true;
  };
  const beat = async (own: PeerNews): Promise<void> => {
    await buryDead(await showAlive());
    await leases.retry();
    await asks.look();
    for (const sessionID of await leases.toEnd()) own.onAbort(sessionID);
    leases.onLeft(undefined);
    look();
    if (await hasAbandoned()) own.onGone();
    // An echo shows that this server still hears.
    if (!isClosed && performance.now() - heardAt > 3 * beatMs) {
      heardAt = performance.now();
      news.listen((one) => onNews(own, one));
    }
    await news.tell({ kind: 'beat', from: seat.id() });
  };
  const goOn = async (own: PeerNews): Promise<void> => {
    try {
      await beat(own);
    } catch (error) {
      wellSince = undefined;
      if (!isClosed) onTrouble(error);
    }
    if (!isClosed) timer = setTimeout(() => void goOn(own), beatMs);
  };
  return {
    leases,
    asks,
    isStoreUp: link.isUp,
    counts() {
      const { held, awaited } = leases.counts();
      return { leasesHeld: held, leasesAwaited: awaited, servers };
    },
    listen(own) {
      tail.listen(own.onEvents);
      heardAt = performance.now();
      news.listen((one) => onNews(own, one));
      timer = setTimeout(() => void goOn(own), beatMs);
    },
    async close() {
      isClosed = true;
      clearTimeout(timer);
      await news.close();
    },
  };
};
