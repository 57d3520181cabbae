import { createDeadline, type Deadline } from '../core/async.ts';
import type { Clock } from '../core/clock.ts';

export type HedgeNeeds = {
  readonly clock: Clock;
  readonly deadline: Deadline;
  /** How long the first run may take before a second one joins it. */
  readonly afterMs: number;
};

/**
 * Runs once, and once more beside it when the first run is slow. The first fulfilment wins and the other run is aborted;
 * it rejects, as the first run did, only when no run is left.
 */
export const hedged = <T>(
  { clock, deadline, afterMs }: HedgeNeeds,
  run: (deadline: Deadline, isSecond: boolean) => Promise<T>,
): Promise<T> =>
  new Promise((resolve, reject) => {
    const parts: Deadline[] = [];
    let running = 0;
    let firstError: unknown;
    const end = () => {
      cancelHedge();
      for (const part of parts) part.end();
    };
    const begin = (isSecond: boolean) => {
      const part = createDeadline(clock, deadline.remainingMs(), deadline.signal);
      parts.push(part);
      running += 1;
      run(part, isSecond).then(
        (value) => {
          end();
          resolve(value);
        },
        (error: unknown) => {
          running -= 1;
          if (!isSecond) firstError = error;
          if (running > 0) return;
          end();
          reject(deadline.signal.aborted ? deadline.signal.reason : firstError);
        },
      );
    };
    const cancelHedge = clock.after(afterMs, () => begin(true));
    begin(false);
  });
