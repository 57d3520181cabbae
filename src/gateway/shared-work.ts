import { untilAborted } from '../core/async.ts';

/** Lets callers that want the same thing at the same time share one piece of work. */
export type SharedWork<T> = {
  /** Joins the work under `key`, or starts it. It is aborted only when the last caller has left. */
  readonly join: (key: string, signal: AbortSignal, start: (signal: AbortSignal) => Promise<T>) => Promise<T>;
};

type Flight<T> = { readonly promise: Promise<T>; readonly controller: AbortController; callers: number };

export const createSharedWork = <T>(): SharedWork<T> => {
  const flights = new Map<string, Flight<T>>();

  const begin = (key: string, start: (signal: AbortSignal) => Promise<T>): Flight<T> => {
    const controller = new AbortController();
    const promise = start(controller.signal).finally(() => {
      if (flights.get(key) === flight) flights.delete(key);
    });
    const flight: Flight<T> = { promise, controller, callers: 0 };
    flights.set(key, flight);
    return flight;
  };

  return {
    async join(key, signal, start) {
      signal.throwIfAborted();
      const flight = flights.get(key) ?? begin(key, start);
      flight.callers += 1;
      try {
        return await untilAborted(flight.promise, signal);
      } finally {
        flight.callers -= 1;
        // Whoever comes next must not join work that is being given up.
        if (flight.callers === 0 && flights.get(key) === flight) {
          flights.delete(key);
          flight.controller.abort(signal.reason);
        }
      }
    },
  };
};
