import { isConnectionLost } from './errors.ts';

type Client = { readonly end: (given: { readonly timeout: number }) => Promise<void> };
/** `awaitedMs`: how long what runs may take, together. */
type PooledClient<Sql> = { readonly sql: Sql; awaitedMs: number };

/** For what else runs on a connection that has failed. */
const END_LIMIT_MS = 1000;

/** Longer than a client waits before it connects again. */
const LATE_CONNECTION_MS = 1500;

/**
 * Ends a client, with what runs on it after `limitSeconds` at the latest. The driver forgets this where it is about to connect again:
 * it connects, and would keep that connection, and this process, for ever. So it is closed once more.
 */
export const endClient = async (client: Client, limitSeconds: number): Promise<void> => {
  await client.end({ timeout: limitSeconds }).catch(() => {});
  const closeAgain = (): void => {
    // The driver's types do not name it.
    if ('close' in client && typeof client.close === 'function') client.close();
  };
  setTimeout(closeAgain, LATE_CONNECTION_MS).unref();
};

/** Clients with one connection each. */
export type ClientPool<Sql> = {
  /** The client that is used first. */
  readonly first: () => Sql;
  /** Runs queries on a client that runs nothing else, or else behind what may take the shortest time. */
  readonly run: <T>(work: (sql: Sql) => PromiseLike<T>, limitMs: number) => Promise<T>;
  /** New clients replace all there are, if `dead` is one of them. Whatever runs on them fails. */
  readonly replaceAll: (dead: Sql) => void;
  readonly end: (limitSeconds: number) => Promise<void>;
};

/**
 * At most `size` clients that `open` makes, each with one connection. Always the first one that is free is used: a process of
 * PostgreSQL that has just answered has plans, catalog and memory at hand, and a query costs a third less there than on ten
 * connections in turn, as the driver's own pool does it.
 */
export const createClientPool = <Sql extends Client>(open: () => Sql, size: number): ClientPool<Sql> => {
  const clients: PooledClient<Sql>[] = [];
  let isEnded = false;
  const add = (): PooledClient<Sql> => {
    const client = { sql: open(), awaitedMs: 0 };
    clients.push(client);
    return client;
  };
  const freest = (): PooledClient<Sql> => {
    const free = clients.find(({ awaitedMs }) => awaitedMs === 0);
    if (free !== undefined) return free;
    if (clients.length < size && !isEnded) return add();
    return clients.reduce((least, one) => (one.awaitedMs < least.awaitedMs ? one : least));
  };
  /**
   * A query that the driver gives to a connection while that closes may never be sent, nor any later one. A client that could
   * not connect is kept: it waits before it tries again.
   */
  const giveUp = (dead: PooledClient<Sql>): void => {
    const place = clients.indexOf(dead);
    if (place < 0 || isEnded) return;
    clients.splice(place, 1);
    setTimeout(() => void endClient(dead.sql, 0), END_LIMIT_MS);
  };
  add();
  return {
    first: () => (clients[0] ?? add()).sql,
    async run(work, limitMs) {
      const client = freest();
      client.awaitedMs += limitMs;
      try {
        return await work(client.sql);
      } catch (error) {
        if (isConnectionLost(error)) giveUp(client);
        throw error;
      } finally {
        client.awaitedMs -= limitMs;
      }
    },
    replaceAll(dead) {
      if (!clients.some(({ sql }) => sql === dead)) return;
      for (const { sql } of clients.splice(0)) void endClient(sql, 0);
    },
    async end(limitSeconds) {
      isEnded = true;
      await Promise.all(clients.map(({ sql }) => endClient(sql, limitSeconds)));
    },
  };
};
