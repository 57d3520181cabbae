import { pause } from '../core/async.ts';
import type { Clock } from '../core/clock.ts';
import type { Log } from '../core/log.ts';
import type { Meter } from './metrics.ts';
import { familiesToGo, type RetentionLimits } from './retention.ts';
import type { FamilyRemoval } from './session/retention.ts';
import type { Store } from './store/store.ts';

export type RetentionNeeds = {
  readonly clock: Clock;
  readonly log: Log;
  readonly chance: () => number;
  readonly store: Pick<Store, 'sessionOutlines'>;
  readonly removal: Pick<FamilyRemoval, 'remove'>;
  readonly limits: RetentionLimits;
  readonly meter: Pick<Meter, 'retired'>;
};

export type Retention = { readonly start: () => void; readonly stop: () => void };

/** Servers that are started together do not all look at the same time. */
const FIRST_AFTER_MS = 180_000;
const SPREAD_MS = 120_000;
const EVERY_MS = 3_600_000;
/** Whoever prompts meanwhile comes in between. */
const REST_MS = 50;

const errorName = (error: unknown): string => (error instanceof Error ? error.name : typeof error);

/**
 * Removes what is older, or more, than the limits allow: a few minutes after `start`, and every hour from then on. A family
 * at work is left for the next time. Without limits it does nothing.
 */
export const createRetention = ({ clock, log, chance, store, removal, limits, meter }: RetentionNeeds): Retention => {
  const ending = new AbortController();
  let cancel = (): void => {};
  const round = async (onRemoved: (sessions: number) => void): Promise<void> => {
    for (const family of familiesToGo(await store.sessionOutlines(), clock.now(), limits)) {
      if (await removal.remove(family)) onRemoved(family.members.length);
      await pause(clock, REST_MS, ending.signal);
    }
  };
  const look = async (): Promise<void> => {
    let count = 0;
    try {
      await round((sessions) => {
        count += sessions;
        meter.retired(sessions);
      });
    } catch (error) {
      if (!ending.signal.aborted) log('warn', 'retention-failed', { reason: errorName(error) });
    }
    if (count > 0) log('info', 'sessions-retired', { count });
    wait(EVERY_MS);
  };
  const wait = (ms: number): void => {
    if (!ending.signal.aborted) cancel = clock.after(ms, () => void look());
  };
  return {
    start() {
      if (limits.ageMs !== undefined || limits.count !== undefined) wait(FIRST_AFTER_MS + chance() * SPREAD_MS);
    },
    stop() {
      cancel();
      ending.abort(new Error('The server stops'));
    },
  };
};
