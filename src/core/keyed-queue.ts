import { Problem } from '../relay-admin/errors.ts';
import { untilAborted } from './async.ts';
import { Fault } from './fault.ts';

/** Lets one at a time do something about a subject; the others wait in line. */
export type Turns = {
  /**
   * Waits for the subject to be free; the returned function frees it, once. Rejects with the signal's reason, and with
   * the `busy` problem when too many wait.
   */
  readonly take: (subject: string, signal: AbortSignal) => Promise<() => void>;
};

const WAITING_LIMIT = 100;

export const createTurns = (): Turns => {
  /** Who waits for a subject, in order. A subject without an entry is free. */
  const lines = new Map<string, Set<() => void>>();
  let waiting = 0;

  const freeOnce = (subject: string): (() => void) => {
    let isFreed = false;
    return () => {
      if (isFreed) return;
      isFreed = true;
      const line = lines.get(subject);
      const [next] = line ?? [];
      if (next === undefined) lines.delete(subject);
      else next();
    };
  };
  const inLine = (subject: string, line: Set<() => void>, signal: AbortSignal): Promise<() => void> =>
    new Promise((resolve, reject) => {
      const stepOut = () => {
        line.delete(admit);
        waiting -= 1;
        signal.removeEventListener('abort', leave);
      };
      const admit = () => {
        stepOut();
        resolve(freeOnce(subject));
      };
      const leave = () => {
        stepOut();
        reject(signal.reason);
      };
      line.add(admit);
      waiting += 1;
      signal.addEventListener('abort', leave, { once: true });
    });

  return {
    async take(subject, signal) {
      signal.throwIfAborted();
      const line = lines.get(subject);
      if (line === undefined) {
        lines.set(subject, new Set());
        return freeOnce(subject);
      }
      if (waiting >= WAITING_LIMIT) throw new Problem({ kind: 'busy' });
      return inLine(subject, line, signal);
    },
  };
};

/** A place in a line. */
export type Ticket = {
  /** Resolves when everyone before it has left. Rejects with the signal's reason, and leaves the line then. */
  readonly turn: (signal: AbortSignal) => Promise<void>;
  /** Says that it will leave in a moment. */
  readonly settle: () => void;
  /** Lets the next one in. Calling it again changes nothing. */
  readonly leave: () => void;
};

/** Lines of those who want the same conversation, first come first served. */
export type TurnQueue = {
  /** Faults with `rate-limited` when too many wait. */
  readonly join: (subject: string) => Ticket;
  readonly isFree: (subject: string) => boolean;
  /** Whether it is free, or as good as that: nobody waits, and the one whose turn it is has settled. */
  readonly isNearlyFree: (subject: string) => boolean;
};

type Line = { readonly places: Set<() => void>; isSettled: boolean };

/** Turns of an agent take seconds to minutes. */
const RETRY_AFTER_MS = 5000;

export const createTurnQueue = (waitingLimit: number): TurnQueue => {
  /** Whoever is first in a line has its turn. A line in which nobody stands is gone. */
  const lines = new Map<string, Line>();

  const inLine = (line: Line, subject: string): Ticket => {
    const { promise: admitted, resolve: admit } = Promise.withResolvers<void>();
    line.places.add(admit);
    const isFirst = () => line.places.values().next().value === admit;
    if (isFirst()) admit();

    const leave = () => {
      if (isFirst()) line.isSettled = false;
      if (!line.places.delete(admit)) return;
      const [first] = line.places;
      if (first === undefined) lines.delete(subject);
      else first();
    };
    return {
      settle() {
        if (isFirst()) line.isSettled = true;
      },
      leave,
      async turn(signal) {
        try {
          await untilAborted(admitted, signal);
        } catch (error) {
          leave();
          throw error;
        }
      },
    };
  };
  return {
    isFree: (subject) => !lines.has(subject),
    isNearlyFree(subject) {
      const line = lines.get(subject);
      return line === undefined || (line.isSettled && line.places.size === 1);
    },
    join(subject) {
      const line = lines.get(subject) ?? { places: new Set(), isSettled: false };
      if (line.places.size > waitingLimit) throw new Fault({ kind: 'rate-limited', retryAfterMs: RETRY_AFTER_MS });
      lines.set(subject, line);
      return inLine(line, subject);
    },
  };
};
