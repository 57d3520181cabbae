import { untilAborted } from './async.ts';

/** A position in the queue of a key. */
export type Ticket = {
  /** Resolves when everyone before it has released. Rejects with the signal's reason, and is released then. */
  readonly waitForTurn: (signal: AbortSignal) => Promise<void>;
  /** Says that it will be released in a moment. */
  readonly announceRelease: () => void;
  /** Admits the next one. Calling it again changes nothing. */
  readonly release: () => void;
};

/** One at a time for each key, first come first served. A key on which no one waits takes no memory. */
export type KeyedQueue = {
  /** Joins the queue of a key. Throws the error of the limit when too many wait. */
  readonly join: (key: string) => Ticket;
  /**
   * Joins and waits; the returned function releases the key, once. Rejects with the signal's reason, and with the error
   * of the limit when too many wait.
   */
  readonly acquire: (key: string, signal: AbortSignal) => Promise<() => void>;
  readonly isFree: (key: string) => boolean;
  /** Whether it is free, or as good as that: no one waits, and the one whose turn it is has announced its release. */
  readonly isNearlyFree: (key: string) => boolean;
};

type WaitingLimit = {
  /** How many may wait, beside those whose turn it is. */
  readonly count: number;
  readonly per: 'key' | 'queue';
  /** What is thrown at one more. */
  readonly createError: () => Error;
};

type Line = { readonly members: Set<() => void>; isReleaseAnnounced: boolean };

export const createKeyedQueue = (limit: WaitingLimit): KeyedQueue => {
  /** The first in a line has its turn. A line without members is removed. */
  const lines = new Map<string, Line>();
  let members = 0;

  const waiting = (line: Line): number => (limit.per === 'key' ? line.members.size - 1 : members - lines.size);
  const enter = (line: Line, key: string): Ticket => {
    const { promise: admitted, resolve: admit } = Promise.withResolvers<void>();
    line.members.add(admit);
    members += 1;
    const isFirst = () => line.members.values().next().value === admit;
    if (isFirst()) admit();

    const release = () => {
      if (isFirst()) line.isReleaseAnnounced = false;
      if (!line.members.delete(admit)) return;
      members -= 1;
      const [first] = line.members;
      if (first === undefined) lines.delete(key);
      else first();
    };
    return {
      announceRelease() {
        if (isFirst()) line.isReleaseAnnounced = true;
      },
      release,
      async waitForTurn(signal) {
        try {
          await untilAborted(admitted, signal);
        } catch (error) {
          release();
          throw error;
        }
      },
    };
  };
  const join = (key: string): Ticket => {
    const line = lines.get(key);
    if (line !== undefined && waiting(line) >= limit.count) throw limit.createError();
    const entered = line ?? { members: new Set(), isReleaseAnnounced: false };
    lines.set(key, entered);
    return enter(entered, key);
  };
  return {
    join,
    async acquire(key, signal) {
      signal.throwIfAborted();
      const { waitForTurn, release } = join(key);
      await waitForTurn(signal);
      return release;
    },
    isFree: (key) => !lines.has(key),
    isNearlyFree(key) {
      const line = lines.get(key);
      return line === undefined || (line.isReleaseAnnounced && line.members.size === 1);
    },
  };
};
