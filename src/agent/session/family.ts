import { Fault } from '../../core/fault.ts';
import type { Store } from '../store/store.ts';
import type { RunQueue } from './run-queue.ts';
import type { Sessions } from './sessions.ts';

type DeletionNeeds = {
  readonly store: Pick<Store, 'sessions'>;
  readonly sessions: Pick<Sessions, 'remove'>;
  readonly runs: Pick<RunQueue, 'close' | 'open'>;
};

/** Creates the function that aborts what runs in a session and those below it, and removes them. */
export const createFamilyDeletion = ({ store, sessions, runs }: DeletionNeeds) => {
  /** Aborts what runs in a session and its child sessions, and allows nothing to begin there. Returns their ids, children first. */
  const closeFamily = async (id: string): Promise<readonly string[]> => {
    await runs.close(id);
    // Read after nothing in it can create further children.
    const children = await store.sessions({ parentID: id });
    const below = await Promise.all(children.map((child) => closeFamily(child.id)));
    return [...below.flat(), id];
  };
  return async (id: string): Promise<void> => {
    const family = await closeFamily(id);
    try {
      for (const one of family) {
        await sessions.remove(one).catch((error: unknown) => {
          // Another client may have removed it meanwhile.
          if (!(error instanceof Fault && error.detail.kind === 'not-found')) throw error;
        });
      }
    } finally {
      // They are removed, or else an error kept them: then prompts may run again.
      for (const one of family) runs.open(one);
    }
  };
};
