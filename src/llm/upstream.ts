import type { Deadline } from '../core/async.ts';
import type { Clock } from '../core/clock.ts';
import { Fault } from '../core/fault.ts';
import type { Breaker } from './breaker.ts';
import type { ChatAnswer, Failover } from './failover.ts';
import type { BackendKey } from './key-pool.ts';
import type { ChatCall } from './types.ts';

/**
 * Asks the backend. Faults: `no-backend-key` when every key is cooling down, `backend-error` when the host failed with
 * every key or is being left alone, `backend-timeout` and `client-left` from the deadline.
 */
export type Upstream = (call: ChatCall, deadline: Deadline, avoid?: BackendKey) => Promise<ChatAnswer>;

/** A caller in more of a hurry than this says nothing about the host by leaving. */
const HANG_MS = 8000;

const LEFT_ALONE = new Fault({
  kind: 'backend-error',
  reason: 'it failed several times in a row and is left alone for a moment',
});

const isHang = (error: unknown, durationMs: number): boolean =>
  error instanceof Fault && error.detail.kind === 'backend-timeout' && durationMs >= HANG_MS;

/** A failover behind a breaker: a host that answers nobody is not hammered. */
export const createUpstream =
  (failover: Failover, breaker: Breaker, clock: Clock): Upstream =>
  async (call, deadline, avoid) => {
    const admission = breaker.admit();
    if (admission === undefined) throw LEFT_ALONE;
    const startedAt = clock.now();
    try {
      const answer = await failover(call, deadline, avoid);
      if (answer.kind === 'answer') {
        admission.succeed();
        return answer;
      }
      if (answer.isHostTrouble) admission.fail();
      throw answer.fault;
    } catch (error) {
      if (isHang(error, clock.now() - startedAt)) admission.fail();
      throw error;
    } finally {
      admission.release();
    }
  };
