import { untilAborted } from '../core/async.ts';
import type { Clock } from '../core/clock.ts';

/** Settles after `ms`, or earlier when `woken` does. Rejects with the signal's reason when that aborts. */
export const wakeablePause = (
  clock: Clock,
  { ms, woken }: { readonly ms: number; readonly woken: Promise<void> },
  signal: AbortSignal,
): Promise<void> => {
  const over = Promise.withResolvers<void>();
  const cancel = clock.after(ms, over.resolve);
  woken.then(over.resolve, over.reject);
  return untilAborted(over.promise, signal).finally(cancel);
};
