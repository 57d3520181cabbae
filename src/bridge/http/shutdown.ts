import { Fault } from '../../core/fault.ts';

export type Presence = {
  readonly signal: AbortSignal;
  /** The client has left, by another sign than its request's. */
  readonly leave: () => void;
  readonly done: () => void;
};

/** Signals that end with their client, or with the service. */
export type Leaving = {
  /** `reason` is always a `Fault`. Call `done` once nothing depends on the signal any more. */
  readonly of: (request: Request) => Presence;
  /** Ends them all, because the service is to stop. */
  readonly stop: () => void;
  readonly count: () => number;
};

const STOPPING = new Fault({
  kind: 'unavailable',
  message: 'The bridge is being stopped; ask again',
  retryAfterMs: 1000,
});

export const createLeaving = (): Leaving => {
  const open = new Set<AbortController>();
  let isStopped = false;
  return {
    of({ signal: client }) {
      const controller = new AbortController();
      const leave = (): void => controller.abort(new Fault({ kind: 'client-left' }));
      if (client.aborted) leave();
      else client.addEventListener('abort', leave, { once: true });
      open.add(controller);
      if (isStopped) controller.abort(STOPPING);
      return {
        signal: controller.signal,
        leave,
        done() {
          open.delete(controller);
          client.removeEventListener('abort', leave);
        },
      };
    },
    stop() {
      isStopped = true;
      for (const controller of open) controller.abort(STOPPING);
    },
    count: () => open.size,
  };
};
