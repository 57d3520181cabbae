import type { PostgresConnection, Sql } from './connection.ts';

/** The membership of this server in the cluster: a row of table `server`. Without it nothing can be stored. */
export type Membership = {
  readonly serverID: () => string;
  /** The number of the next group of commits, with the server id that it belongs to. */
  readonly nextBatch: () => { readonly id: string; readonly batch: number };
  /** The database has no row for this id any more: joins under a new id, and returns the error for what was to be stored. */
  readonly rejoin: (id: string) => Promise<Error>;
  /** Called when the membership was lost: the leases that were taken under it are lost too. */
  readonly onLost: (listener: () => void) => void;
  readonly leave: () => Promise<void>;
};

/** Other servers took this one for dead, because its heartbeat was missing for too long. */
class MembershipLost extends Error {
  override readonly name = 'MembershipLost';
  constructor() {
    super('This server was away from the store for too long, and others have taken over what it did');
  }
}

type MembershipOptions = {
  readonly newID: () => string;
  /** A server without a heartbeat for so long is dead. */
  readonly aliveMs: number;
};

/**
 * Joins the cluster. Standing rules end with the last server, so the first to join deletes them. It is not the first while a server
 * that crashed still looks alive: the rules then hold until their time is over.
 */
export const joinCluster = async (
  connection: PostgresConnection,
  { newID, aliveMs }: MembershipOptions,
): Promise<Membership> => {
  const listeners: (() => void)[] = [];
  let id = newID();
  let batch = 0;
  let registering: Promise<void> | undefined;
  let hasLeft = false;
  /** After a start of the database all servers look dead, because none could send a heartbeat. */
  const removeDeadServers = (sql: Sql) => sql`
    DELETE FROM server WHERE seen_at < clock_timestamp() - make_interval(secs => ${aliveMs / 1000})
      AND pg_postmaster_start_time() < clock_timestamp() - make_interval(secs => ${aliveMs / 1000})`;
  const register = async (): Promise<void> => {
    await connection.query(async (sql) => {
      await sql`DELETE FROM standing_rule WHERE NOT EXISTS (SELECT 1 FROM server)`;
      await sql`INSERT INTO server (id) VALUES (${id}) ON CONFLICT (id) DO NOTHING`;
    });
  };
  const registerAnew = async (): Promise<void> => {
    id = newID();
    batch = 0;
    for (const listener of listeners) listener();
    await register();
  };
  await connection.query(removeDeadServers);
  await register();
  return {
    serverID: () => id,
    nextBatch() {
      batch += 1;
      return { id, batch };
    },
    async rejoin(lostID) {
      if (lostID === id && !hasLeft) {
        registering ??= registerAnew().finally(() => {
          registering = undefined;
        });
      }
      await registering;
      return new MembershipLost();
    },
    onLost: (listener) => void listeners.push(listener),
    async leave() {
      hasLeft = true;
      await connection.query((sql) => sql`DELETE FROM server WHERE id = ${id}`);
    },
  };
};
