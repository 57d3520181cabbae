import type { PostgresLink, Sql } from './connection.ts';

/** The place of this server among those that are alive: without it nothing can be kept. */
export type Seat = {
  readonly id: () => string;
  /** The number of the next group of commits, under the seat that it is for. */
  readonly nextBatch: () => { readonly id: string; readonly batch: number };
  /** The database knows this seat no more: takes another one, and gives the error for what was to be kept. */
  readonly lost: (id: string) => Promise<Error>;
  /** Called when a seat was lost: whatever was done under it is nobody's any more. */
  readonly onLost: (listener: () => void) => void;
  readonly leave: () => Promise<void>;
};

/** A server that others took for dead, because it was not heard of for too long. */
class SeatLost extends Error {
  override readonly name = 'SeatLost';
  constructor() {
    super('This server was away from the store for too long, and others have taken over what it did');
  }
}

export type SeatNeeds = {
  readonly newID: () => string;
  /** A server that was not seen for so long is dead. */
  readonly aliveMs: number;
};

/** Takes a seat. What people allowed for good is forgotten when no other server is there to remember it. */
export const takeSeat = async (link: PostgresLink, { newID, aliveMs }: SeatNeeds): Promise<Seat> => {
  const listeners: (() => void)[] = [];
  let id = newID();
  let batch = 0;
  let taking: Promise<void> | undefined;
  let hasLeft = false;
  /** After a start of the database all look dead, because none could show that it is not. */
  const buryDead = (sql: Sql) => sql`
    DELETE FROM server WHERE seen_at < clock_timestamp() - make_interval(secs => ${aliveMs / 1000})
      AND pg_postmaster_start_time() < clock_timestamp() - make_interval(secs => ${aliveMs / 1000})`;
  const sit = async (): Promise<void> => {
    await link.ask(async (sql) => {
      await sql`DELETE FROM allowed WHERE NOT EXISTS (SELECT 1 FROM server)`;
      await sql`INSERT INTO server (id) VALUES (${id}) ON CONFLICT (id) DO NOTHING`;
    });
  };
  const sitAnew = async (): Promise<void> => {
    id = newID();
    batch = 0;
    for (const listener of listeners) listener();
    await sit();
  };
  await link.ask(buryDead);
  await sit();
  return {
    id: () => id,
    nextBatch() {
      batch += 1;
      return { id, batch };
    },
    async lost(lostID) {
      if (lostID === id && !hasLeft) {
        taking ??= sitAnew().finally(() => {
          taking = undefined;
        });
      }
      await taking;
      return new SeatLost();
    },
    onLost: (listener) => void listeners.push(listener),
    async leave() {
      hasLeft = true;
      await link.ask((sql) => sql`DELETE FROM server WHERE id = ${id}`);
    },
  };
};
