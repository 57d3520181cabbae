import type { SessionSource } from './export-session.ts';
import type { Store } from './store.ts';

/** What commands read of a store beside the servers that work on it. */
export type SessionReader = SessionSource &
  Pick<Store, 'sessionOutlines' | 'unfinished'> & {
    /** Those of some sessions that a server works on, as far as the store tells. */
    readonly busy: (sessionIDs: readonly string[]) => Promise<readonly string[]>;
    readonly close: () => Promise<void>;
  };
