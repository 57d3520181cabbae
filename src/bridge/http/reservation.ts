import { Fault } from '../../core/fault.ts';
import type { Semaphore } from '../../core/semaphore.ts';
import type { ActiveRequest } from '../openai/tracked.ts';
import type { AnswerReservation } from '../turn/answers.ts';

/** What a request takes of the limits: a place among the answers, if it starts one, and the memory of its body. */
export type RequestReservation = {
  /** Takes a place for an answer that the request starts. Faults with `overloaded` when there is none. Call it once at most. */
  readonly startAnswer: () => AnswerReservation;
  /** Its client reads no more. What its answer still needs stays taken until that gives it back. */
  readonly endReading: () => void;
};

const RETRY_AFTER_MS = 1000;

const takePlace = ({ tryAcquire }: Pick<Semaphore, 'tryAcquire'>): (() => void) => {
  const release = tryAcquire();
  if (release === undefined) throw new Fault({ kind: 'overloaded', retryAfterMs: RETRY_AFTER_MS });
  return release;
};

/** Tracks requests each of which takes a place until it ends. Faults with `overloaded` when there is none. */
export const trackWithin =
  (semaphore: Pick<Semaphore, 'tryAcquire'>, track: (request: Request) => ActiveRequest) =>
  (request: Request): ActiveRequest => {
    const release = takePlace(semaphore);
    const active = track(request);
    return {
      ...active,
      end() {
        active.end();
        release();
      },
    };
  };

/** `releaseBody` gives back the bytes of the body, and may be called more than once. */
export const createRequestReservation = (
  semaphore: Pick<Semaphore, 'tryAcquire'>,
  releaseBody: () => void,
): RequestReservation => {
  let releasePlace = (): void => {};
  let isRead = false;
  let isAnswering = false;
  let isHeld = false;
  const giveBack = (): void => {
    if (!isRead) return;
    if (!isAnswering) releasePlace();
    if (!isHeld) releaseBody();
  };
  return {
    startAnswer() {
      releasePlace = takePlace(semaphore);
      isAnswering = true;
      isHeld = true;
      return {
        end() {
          isAnswering = false;
          giveBack();
        },
        release() {
          isHeld = false;
          giveBack();
        },
      };
    },
    endReading() {
      isRead = true;
      giveBack();
    },
  };
};
