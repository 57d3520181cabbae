import type { Clock } from '../../core/clock.ts';
import { Fault } from '../../core/fault.ts';
import type { Publisher } from '../events/publisher.ts';
import type { Session } from '../protocol/types.ts';
import { CALL_NOT_AWAITED, endAwaitedCalls } from '../session/awaited-calls.ts';
import type { Sessions } from '../session/sessions.ts';
import type { Store } from '../store/store.ts';

type ExpiryNeeds = {
  readonly store: Pick<Store, 'awaitingSessions' | 'message'>;
  readonly sessions: Pick<Sessions, 'get' | 'update'>;
  readonly publisher: Pick<Publisher, 'subscribe'>;
  readonly clock: Clock;
  readonly onBug: (error: unknown) => void;
};

/** Ends calls whose results did not come in time, between `start` and `stop`. */
type AwaitedCallsExpiry = { readonly start: () => void; readonly stop: () => void };

/** After a look at the store that failed or found very many sessions. A result that comes meanwhile is refused by its time. */
const REST_MS = 30_000;
/** The rest for each session that a look has found. */
const REST_PER_SESSION_MS = 10;
/** A timer takes no more than 24 days. */
const LONGEST_PAUSE_MS = 86_400_000;

/**
 * Ends the calls of client tools that no result came for in time: at the start those of the time without a server, later each
 * at its time, or half a minute after that where thousands wait. There is one timer, for the first of all; events say what begins to wait, here and at
 * other servers. Of several servers the first one ends a call.
 */
export const createAwaitedCallsExpiry = ({
  store,
  sessions,
  publisher,
  clock,
  onBug,
}: ExpiryNeeds): AwaitedCallsExpiry => {
  let isStopped = false;
  let restsUntil = 0;
  let nextAt = Number.POSITIVE_INFINITY;
  let cancel = (): void => {};
  let unsubscribe = (): void => {};
  const isExpired = ({ awaitedCalls }: Session): boolean =>
    awaitedCalls !== undefined && awaitedCalls.expiresAt <= clock.now();
  const schedule = (at: number): void => {
    if (isStopped || at >= nextAt) return;
    cancel();
    nextAt = at;
    const pauseMs = Math.max(at, restsUntil) - clock.now();
    cancel = clock.after(Math.min(pauseMs, LONGEST_PAUSE_MS), () => void look().catch(onFailure));
  };
  const onFailure = (error: unknown): void => {
    if (isStopped) return;
    onBug(error);
    restsUntil = clock.now() + REST_MS;
    schedule(restsUntil);
  };
  const end = async ({ id }: Session): Promise<void> => {
    const ending = { why: CALL_NOT_AWAITED.expired, isMeant: isExpired };
    await endAwaitedCalls({ store, sessions, clock }, id, ending).catch((error: unknown) => {
      // Somebody may have removed the session meanwhile.
      if (!(error instanceof Fault && error.detail.kind === 'not-found')) throw error;
    });
  };
  const look = async (): Promise<void> => {
    nextAt = Number.POSITIVE_INFINITY;
    const waiting = await store.awaitingSessions();
    restsUntil = clock.now() + Math.min(REST_MS, waiting.length * REST_PER_SESSION_MS);
    for (const session of waiting) {
      if (isStopped) return;
      if (isExpired(session)) await end(session);
      else if (session.awaitedCalls !== undefined) schedule(session.awaitedCalls.expiresAt);
    }
  };
  return {
    start() {
      unsubscribe = publisher.subscribe(({ event }) => {
        if (event.type !== 'session.updated') return;
        const { awaitedCalls } = event.properties.info;
        if (awaitedCalls !== undefined) schedule(awaitedCalls.expiresAt);
      });
      void look().catch(onFailure);
    },
    stop() {
      isStopped = true;
      unsubscribe();
      cancel();
    },
  };
};
