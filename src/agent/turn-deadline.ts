import type { Clock } from '../core/clock.ts';
import { TurnTooLong } from './turn/errors.ts';

/** A signal that aborts with the run's, or when the turn has taken all the time that it may. Call `clear` in a `finally`. */
export const createTurnDeadline = (
  clock: Clock,
  limitMs: number,
  run: AbortSignal,
): { readonly signal: AbortSignal; readonly clear: () => void } => {
  const controller = new AbortController();
  const cancelTimer = clock.after(limitMs, () => controller.abort(new TurnTooLong(limitMs)));
  const leave = () => controller.abort(run.reason);
  if (run.aborted) leave();
  else run.addEventListener('abort', leave, { once: true });
  return {
    signal: controller.signal,
    clear() {
      cancelTimer();
      run.removeEventListener('abort', leave);
    },
  };
};
