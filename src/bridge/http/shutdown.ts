import { Fault } from '../../core/fault.ts';
import { jsonTextResponse } from '../../core/http/response.ts';
import { writeJson } from '../../core/json.ts';
import type { Semaphore } from '../../core/semaphore.ts';
import type { RunInSlices } from '../../core/time-slices.ts';
import type { ActiveRequest, OwnerRoute } from '../openai/tracked.ts';

/** The requests that are being answered. */
export type ActiveRequests = {
  readonly track: (request: Request) => ActiveRequest;
  /** Aborts all of them, and every later one, because the service stops. */
  readonly stop: () => void;
  readonly count: () => number;
};

const STOPPING = new Fault({
  kind: 'unavailable',
  message: 'The bridge is being stopped; ask again',
  retryAfterMs: 1000,
});

export const createActiveRequests = (): ActiveRequests => {
  const open = new Set<AbortController>();
  let isStopped = false;
  return {
    track({ signal: client }) {
      const controller = new AbortController();
      const disconnect = (): void => controller.abort(new Fault({ kind: 'client-left' }));
      if (client.aborted) disconnect();
      else client.addEventListener('abort', disconnect, { once: true });
      open.add(controller);
      if (isStopped) controller.abort(STOPPING);
      return {
        signal: controller.signal,
        disconnect,
        end() {
          open.delete(controller);
          client.removeEventListener('abort', disconnect);
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

/** A client that has left by then waits for nothing, and the rest of the writing is short. */
const never = new AbortController().signal;

type OwnerRouteNeeds = {
  readonly track: ActiveRequests['track'];
  readonly authenticate: (request: Request) => string;
  readonly runInSlices: RunInSlices;
};

/** Routes for owners, whose requests are tracked while they are answered. */
export const createOwnerRoute =
  ({ track, authenticate, runInSlices }: OwnerRouteNeeds): OwnerRoute =>
  (handle) =>
  async (request, params) => {
    const { signal, end } = track(request);
    try {
      const answer = await handle(request, { owner: authenticate(request), signal }, params);
      return answer instanceof Response ? answer : jsonTextResponse(200, await runInSlices(writeJson(answer), never));
    } finally {
      end();
    }
  };

const RETRY_AFTER_MS = 1000;

/** Tracks requests each of which takes a place until it ends. Faults with `overloaded` when there is none. */
export const trackWithin =
  (semaphore: Pick<Semaphore, 'tryAcquire'>, track: ActiveRequests['track']): ActiveRequests['track'] =>
  (request) => {
    const release = semaphore.tryAcquire();
    if (release === undefined) throw new Fault({ kind: 'overloaded', retryAfterMs: RETRY_AFTER_MS });
    const active = track(request);
    return {
      ...active,
      end() {
        active.end();
        release();
      },
    };
  };
