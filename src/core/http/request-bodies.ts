import { createDeadline, type Deadline } from '../async.ts';
import type { ByteBudget } from '../byte-budget.ts';
import type { Clock } from '../clock.ts';
import { Fault } from '../fault.ts';
import type { RunInSlices } from '../time-slices.ts';
import { type BodyReading, readForm, readJson, readJsonIfAny } from './body.ts';

/** Reads the bodies of a service's requests, and accounts for the memory that they take until their requests are answered. */
export type RequestBodies = {
  /**
   * As `readJson` of `body.ts`, and `overloaded` where the requests in flight leave no memory for this body. `deadline` in
   * place of the 30 seconds that a body may take.
   */
  readonly readJson: (request: Request, deadline?: AbortSignal) => Promise<unknown>;
  /** The same where the body may be left out: undefined when it is empty. */
  readonly readJsonIfAny: (request: Request, deadline?: AbortSignal) => Promise<unknown>;
  /** The fields of a form, as `readForm` of `body.ts`. */
  readonly readForm: (request: Request) => Promise<ReadonlyMap<string, string>>;
  /** Keeps the request's bytes counted beyond its answer, until the function that it returns is called. */
  readonly hold: (request: Request) => () => void;
  /** Gives the request's bytes back, unless they are held. The handler calls it when a request is answered. */
  readonly release: (request: Request) => void;
  /** Gives up the bodies that have not arrived a second after it. */
  readonly stop: () => void;
};

export type RequestBodiesNeeds = {
  readonly clock: Clock;
  /** The largest body. */
  readonly limitBytes: number;
  readonly budget: Pick<ByteBudget, 'tryTake'>;
  readonly runInSlices: RunInSlices;
};

/** A body that takes longer to arrive is refused. */
const BODY_LIMIT_MS = 30_000;
const RETRY_AFTER_MS = 1000;
const STOP_LIMIT_MS = 1000;

type Reservation = { readonly givingBack: (() => void)[]; isOver: boolean };

/** Creates the reader of a service: all its routes share the largest size, the time that a body may take, and the budget. */
export const createRequestBodies = ({ clock, limitBytes, budget, runInSlices }: RequestBodiesNeeds): RequestBodies => {
  const arriving = new Set<Deadline>();
  const reservations = new WeakMap<Request, Reservation>();
  const end = (reservation: Reservation | undefined): void => {
    if (reservation === undefined) return;
    reservation.isOver = true;
    for (const giveBack of reservation.givingBack) giveBack();
  };
  const overloaded = (): Fault => new Fault({ kind: 'overloaded', retryAfterMs: RETRY_AFTER_MS });
  const openReservation = (request: Request): ((bytes: number) => void) => {
    const reservation: Reservation = { givingBack: [], isOver: false };
    reservations.set(request, reservation);
    return (bytes) => {
      // What still arrives of a request that is answered is counted no more, and must not be kept.
      const giveBack = reservation.isOver ? undefined : budget.tryTake(bytes);
      if (giveBack === undefined) throw overloaded();
      reservation.givingBack.push(giveBack);
    };
  };
  const limited =
    <T>(read: (request: Request, reading: BodyReading) => Promise<T>) =>
    async (request: Request, given?: AbortSignal): Promise<T> => {
      const reserve = openReservation(request);
      if (given !== undefined) return read(request, { limitBytes, signal: given, reserve, runInSlices });
      const deadline = createDeadline(clock, BODY_LIMIT_MS, request.signal);
      arriving.add(deadline);
      try {
        return await read(request, { limitBytes, signal: deadline.signal, reserve, runInSlices });
      } finally {
        deadline.clear();
        arriving.delete(deadline);
      }
    };
  return {
    readJson: limited(readJson),
    readJsonIfAny: limited(readJsonIfAny),
    readForm: limited(readForm),
    hold(request) {
      const reservation = reservations.get(request);
      reservations.delete(request);
      return () => end(reservation);
    },
    release(request) {
      end(reservations.get(request));
      reservations.delete(request);
    },
    stop() {
      const giveUp = (): void => {
        for (const deadline of arriving) deadline.end();
      };
      if (arriving.size > 0) clock.after(STOP_LIMIT_MS, giveUp);
    },
  };
};
