import { untilAborted } from './async.ts';
import { Fault } from './fault.ts';

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
