import type { Clock } from '../../core/clock.ts';
import { Fault } from '../../core/fault.ts';

/**
 * What happens to a turn whose last reader has disconnected: it is aborted at once, it is aborted after `ms` unless a client
 * comes back, or it continues.
 */
export type DisconnectPolicy =
  | { readonly kind: 'abort' }
  | { readonly kind: 'grace'; readonly ms: number }
  | { readonly kind: 'detach' };

export type AnswerReaders = {
  /** Adds a reader. The returned function removes it; calling it again changes nothing. */
  readonly add: () => () => void;
};

/** Counts the readers of an answer, and has it aborted when the last one disconnects before its end. */
export const createAnswerReaders = (
  clock: Clock,
  policy: DisconnectPolicy,
  { isOver, abort }: { readonly isOver: () => boolean; readonly abort: () => void },
): AnswerReaders => {
  let count = 0;
  let cancelAbort = (): void => {};
  const remove = (): void => {
    count -= 1;
    if (count > 0 || isOver() || policy.kind === 'detach') return;
    const waitMs = policy.kind === 'grace' ? policy.ms : 0;
    if (waitMs === 0) abort();
    else
      cancelAbort = clock.after(waitMs, () => {
        if (!isOver()) abort();
      });
  };
  return {
    add() {
      count += 1;
      cancelAbort();
      let isRemoved = false;
      return () => {
        if (isRemoved) return;
        isRemoved = true;
        remove();
      };
    },
  };
};

/** All clients that wait for the same answer to start. */
export type Listeners = {
  /** Aborts when the last one has disconnected. */
  readonly signal: AbortSignal;
  /** Adds a client until its own signal aborts. */
  readonly add: (signal: AbortSignal) => void;
};

export const createListeners = (): Listeners => {
  const controller = new AbortController();
  let count = 0;
  return {
    signal: controller.signal,
    add(signal) {
      count += 1;
      const remove = (): void => {
        count -= 1;
        if (count > 0) return;
        controller.abort(signal.reason instanceof Fault ? signal.reason : new Fault({ kind: 'client-left' }));
      };
      if (signal.aborted) remove();
      else signal.addEventListener('abort', remove, { once: true });
    },
  };
};
