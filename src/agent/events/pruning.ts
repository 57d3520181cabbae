import type { Clock } from '../../core/clock.ts';
import type { Store } from '../store/store.ts';

/** How many events can be replayed, and how often older ones are removed. */
const EVENT_LIMIT = 100_000;
const PRUNE_EVERY_MS = 600_000;

type PruningNeeds = { readonly store: Store; readonly clock: Clock; readonly onBug: (error: unknown) => void };

/** Removes old events from `start` until `stop`. `also`: other work that is done as often. */
export const createEventPruning = ({ store, clock, onBug }: PruningNeeds, also: readonly (() => Promise<void>)[]) => {
  let cancel = (): void => {};
  const start = (): void => {
    void store.pruneEvents(EVENT_LIMIT).catch(onBug);
    for (const work of also) void work().catch(onBug);
    cancel = clock.after(PRUNE_EVERY_MS, start);
  };
  return { start, stop: () => cancel() };
};
