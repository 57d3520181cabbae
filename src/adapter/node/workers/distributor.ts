import type { Clock } from '../../../core/clock.ts';

/** A worker that takes connections: sends one to it, and calls back if that failed. */
export type Give<Connection> = (connection: Connection, onFailed: () => void) => void;

/** A connection as the distributor needs it. */
type Closable = { readonly destroy: () => void };

/** A worker's place among those that take connections. */
export type Registration = {
  /** The worker has the connection that it was given last. */
  readonly accepted: () => void;
  /** So many connections of the worker are closed. */
  readonly closed: (count: number) => void;
  /** The worker is gone. Call it once nothing can arrive from it any more. */
  readonly leave: () => void;
};

/** Gives each connection to the worker with the fewest, one at a time until it has confirmed it. */
type Distributor<Connection> = {
  readonly offer: (connection: Connection) => void;
  readonly join: (give: Give<Connection>) => Registration;
  /** Resolves once every connection is with a worker. */
  readonly allGiven: () => Promise<void>;
};

/** Connections that wait for a worker. As with the backlog of a port, more are refused. */
const WAITING_LIMIT = 1000;

/** A worker that is busy for longer than this is passed over. */
const PATIENCE_MS = 50;

type Member<Connection> = {
  readonly give: Give<Connection>;
  /** What it was given and has not accepted, and since when. */
  given: Connection | undefined;
  givenAt: number;
  open: number;
};

/**
 * Creates a distributor. A worker confirms a connection before it reads from it. So one that ended without that
 * has read nothing, and the connection goes to another worker. This process keeps its copy until then.
 */
export const createDistributor = <Connection extends Closable>(clock: Clock): Distributor<Connection> => {
  const waiting: Connection[] = [];
  // Who was given a connection last comes last.
  const members = new Set<Member<Connection>>();
  let onAllGiven: (() => void)[] = [];
  let isRetryDue = false;

  /** The member with the fewest connections, of those that are free or will be at once; undefined when there is none. */
  const nextMember = (): Member<Connection> | undefined => {
    const late = clock.now() - PATIENCE_MS;
    let next: Member<Connection> | undefined;
    for (const member of members) {
      if (member.given !== undefined && member.givenAt <= late) continue;
      if (next === undefined || member.open < next.open || (member.open === next.open && next.given !== undefined))
        next = member;
    }
    return next;
  };
  const retryLater = (): void => {
    if (isRetryDue) return;
    isRetryDue = true;
    clock.after(PATIENCE_MS, () => {
      isRetryDue = false;
      giveWaiting();
    });
  };
  const give = (member: Member<Connection>, connection: Connection): void => {
    member.given = connection;
    member.givenAt = clock.now();
    member.open += 1;
    members.delete(member);
    members.add(member);
    member.give(connection, () => {
      // The end of the worker, which follows, may have been noticed before.
      if (member.given === connection) takeBack(member);
    });
  };
  const giveWaiting = (): void => {
    for (let [connection] = waiting; connection !== undefined; [connection] = waiting) {
      const member = nextMember();
      if (member?.given !== undefined) retryLater();
      if (member === undefined || member.given !== undefined) break;
      waiting.shift();
      give(member, connection);
    }
    if (onAllGiven.length === 0 || waiting.length > 0 || [...members].some(({ given }) => given !== undefined)) return;
    for (const resolve of onAllGiven) resolve();
    onAllGiven = [];
  };
  /** To a worker that cannot be sent to, nothing more is given: its end follows. */
  const takeBack = (member: Member<Connection>): void => {
    members.delete(member);
    if (member.given !== undefined) waiting.unshift(member.given);
    member.given = undefined;
    giveWaiting();
  };

  return {
    offer(connection) {
      if (waiting.length >= WAITING_LIMIT) return connection.destroy();
      waiting.push(connection);
      giveWaiting();
    },
    join(giveTo) {
      const member: Member<Connection> = { give: giveTo, given: undefined, givenAt: 0, open: 0 };
      members.add(member);
      giveWaiting();
      return {
        accepted() {
          member.given?.destroy();
          member.given = undefined;
          giveWaiting();
        },
        closed(count) {
          member.open -= count;
        },
        leave: () => takeBack(member),
      };
    },
    allGiven: () =>
      new Promise((resolve) => {
        onAllGiven.push(resolve);
        giveWaiting();
      }),
  };
};
