import { pause } from '../core/async.ts';
import type { Clock } from '../core/clock.ts';
import { type Family, familiesToGo, type RetentionLimits } from './retention.ts';
import type { FamilyRemoval } from './session/retention.ts';
import type { Store } from './store/store.ts';

export type PruneNeeds = {
  readonly clock: Clock;
  readonly store: Pick<Store, 'sessionOutlines'>;
  readonly removal: FamilyRemoval;
  readonly limits: RetentionLimits;
  /** Nothing is removed: what would be is only told. */
  readonly isDryRun: boolean;
};

export type Pruned = { readonly family: Family; readonly isGone: boolean };

/** Lets a server on the same file get its turn. */
const REST_MS = 10;

/** Removes what the limits do not allow, and tells of each family whether it is gone. Those that are not are at work. */
export async function* pruneSessions({ clock, store, removal, limits, isDryRun }: PruneNeeds): AsyncGenerator<Pruned> {
  const { signal } = new AbortController();
  for (const family of familiesToGo(await store.sessionOutlines(), clock.now(), limits)) {
    if (isDryRun) yield { family, isGone: !(await removal.isAtWork(family)) };
    else {
      yield { family, isGone: await removal.remove(family) };
      await pause(clock, REST_MS, signal);
    }
  }
}
