import type { Runtime } from '../../core/runtime.ts';
import type { KeyChange } from '../../llm/key-state.ts';
import { createFeed, type Feed } from './feed.ts';
import { keyReports } from './state.ts';
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
