import type { SessionSource } from './session/export.ts';
import type { Store } from './store/store.ts';

/** What commands read of a store beside the servers that work on it. */
export type SessionReader = SessionSource &
  Pick<Store, 'sessionOutlines' | 'unfinished'> & {
    /** Those of some sessions that a server works on, as far as the store tells. */
    readonly busy: (sessionIDs: readonly string[]) => Promise<readonly string[]>;
    readonly close: () => Promise<void>;
  };
