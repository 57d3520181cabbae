import type { Clock } from '../../core/clock.ts';
import { Fault } from '../../core/fault.ts';

/** What becomes of a run whose last reader has left: it is ended, it is ended unless somebody comes back, or it goes on. */
export type DisconnectPolicy =
  | { readonly kind: 'abort' }
  | { readonly kind: 'grace'; readonly ms: number }
  | { readonly kind: 'detach' };

export type AnswerReaders = {
  /** Counts one in; the returned function counts it out, once. */
  readonly add: () => () => void;
};

/** Counts who reads an answer, and has it ended once the last one has left before its end. */
export const createAnswerReaders = (
  clock: Clock,
  policy: DisconnectPolicy,
  { isOver, end }: { readonly isOver: () => boolean; readonly end: () => void },
): AnswerReaders => {
  let present = 0;
  let cancel = (): void => {};
  const leave = (): void => {
    present -= 1;
    if (present > 0 || isOver() || policy.kind === 'detach') return;
    const waitMs = policy.kind === 'grace' ? policy.ms : 0;
    if (waitMs === 0) end();
    else
      cancel = clock.after(waitMs, () => {
        if (!isOver()) end();
      });
  };
  return {
    add() {
      present += 1;
      cancel();
      let hasLeft = false;
      return () => {
        if (hasLeft) return;
        hasLeft = true;
        leave();
      };
    },
  };
};

/** Everybody who waits for the same thing to begin. */
export type Listeners = {
  /** Aborts when the last one has left. */
  readonly signal: AbortSignal;
  /** Counts one in, until its own signal aborts. */
  readonly add: (signal: AbortSignal) => void;
};

export const createListeners = (): Listeners => {
  const controller = new AbortController();
  let present = 0;
  return {
    signal: controller.signal,
    add(signal) {
      present += 1;
      const leave = (): void => {
        present -= 1;
        if (present > 0) return;
        controller.abort(signal.reason instanceof Fault ? signal.reason : new Fault({ kind: 'client-left' }));
      };
      if (signal.aborted) leave();
      else signal.addEventListener('abort', leave, { once: true });
    },
  };
};
