import { pause } from '../core/async.ts';
import type { Clock } from '../core/clock.ts';
import { Fault } from '../core/fault.ts';

/** An agent that cannot be reached for so long has lost what it was doing. */
export const GIVE_UP_AFTER_MS = 120_000;
export const TRY_EVERY_MS = 1000;

/** Whether the same call may go better in a moment: the agent is away, or cannot answer now. */
const mayPass = (error: unknown): boolean => error instanceof Fault && error.detail.kind !== 'not-found';

/** Calls the agent, again and again while it fails, and rejects with the last failure when that goes on for too long. */
export const patiently = async <T>(
  call: () => Promise<T>,
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
): Promise<T> => {
  const until = clock.now() + GIVE_UP_AFTER_MS;
  for (;;) {
    try {
      return await call();
    } catch (error) {
      if (!mayPass(error) || clock.now() >= until) throw error;
    }
    await pause(clock, TRY_EVERY_MS, signal);
  }
};
