import { Fault } from '../core/fault.ts';

/** Everybody who waits for the same thing to begin. */
export type Audience = {
  /** Aborts when the last one has left. */
  readonly signal: AbortSignal;
  /** Counts one in, until its own signal aborts. */
  readonly join: (signal: AbortSignal) => void;
};

export const createAudience = (): Audience => {
  const controller = new AbortController();
  let present = 0;
  return {
    signal: controller.signal,
    join(signal) {
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
