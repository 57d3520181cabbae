import type { Runtime } from '../../core/runtime.ts';
import type { Semaphore } from '../../core/semaphore.ts';
import type { Breaker } from '../../llm/breaker.ts';
import type { KeyPool } from '../../llm/key-pool.ts';
import type { KeyChange } from '../../llm/key-state.ts';
import type { VerdictCache } from '../judge/cache.ts';
import type { GatewaySettings } from '../settings/variables.ts';
import type { ShadowState } from '../shadow/state.ts';
import { createFeed, type Feed } from './feed.ts';
import { breakerReport, keyReports, type ProcessState } from './state.ts';
import { createUsageCounts, type UsageCounts } from './usage.ts';
import { createWatchVerdicts, type WatchVerdicts } from './verdict-events.ts';

type AdminWatchNeeds = Pick<Runtime, 'clock' | 'log'> & { readonly isStopping: () => boolean };

/** What a process notes while it works, so that the admin routes can show it. */
export type AdminWatch = {
  readonly feed: Feed;
  readonly watchVerdicts: WatchVerdicts;
  readonly usage: UsageCounts;
  /** A key has changed its state. */
  readonly onKeyChange: (change: KeyChange) => void;
};

/** Creates what the admin routes show beside the current values. Only a gateway with an admin key has it. */
export const createAdminWatch = ({ clock, log, isStopping }: AdminWatchNeeds): AdminWatch => {
  const onBug = (error: unknown): void =>
    log('error', 'admin-feed-failed', { reason: error instanceof Error ? error.name : typeof error });
  const feed = createFeed({ clock, isStopping, onBug });
  return {
    feed,
    watchVerdicts: createWatchVerdicts({ clock, feed }),
    usage: createUsageCounts(),
    onKeyChange(change) {
      if (feed.isOpen())
        for (const report of keyReports([change])) feed.publish('keys', { at: clock.now(), ...report });
    },
  };
};

/** What the state of a process is read from. */
export type ProcessStateNeeds = {
  readonly pool: Pick<KeyPool, 'details'>;
  readonly breaker: Pick<Breaker, 'status'>;
  readonly semaphore: Pick<Semaphore, 'running' | 'waiting'>;
  readonly cache: Pick<VerdictCache, 'size'>;
  readonly settings: Pick<GatewaySettings, 'MAX_CONCURRENCY' | 'CACHE_MAX_ENTRIES'>;
  readonly usage: UsageCounts;
  readonly shadowState: (() => ShadowState) | undefined;
};

/** The state of this process. */
export const readProcessState = (needs: ProcessStateNeeds): ProcessState => {
  const { pool, breaker, semaphore, cache, settings, usage, shadowState } = needs;
  return {
    keys: keyReports(pool.details()),
    breaker: breakerReport(breaker.status()),
    calls: { running: semaphore.running(), waiting: semaphore.waiting(), limit: settings.MAX_CONCURRENCY },
    cache: { verdicts: cache.size(), limit: settings.CACHE_MAX_ENTRIES },
    usage: usage.read(),
    ...(shadowState === undefined ? {} : { shadow: shadowState() }),
  };
};
