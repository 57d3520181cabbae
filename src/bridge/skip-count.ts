import type { Clock } from '../core/clock.ts';
import type { Log } from '../core/log.ts';

const TELL_EVERY_MS = 60_000;

/** Counts events that were not understood, and logs the first at once, further ones together once a minute. */
export const createSkipCount = (clock: Clock, log: Log) => {
  let count = 0;
  let cancel: (() => void) | undefined;
  const tell = (): void => {
    cancel = undefined;
    if (count === 0) return;
    log('warn', 'agent-events-skipped', { count });
    count = 0;
    cancel = clock.after(TELL_EVERY_MS, tell);
  };
  return {
    add(): void {
      count += 1;
      if (cancel === undefined) tell();
    },
    stop: (): void => cancel?.(),
  };
};
