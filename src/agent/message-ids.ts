import type { Ids } from './protocol/ids.ts';
import type { Store } from './store/store.ts';

export type MessageIDs = (sessionID: string) => Promise<string>;

/**
 * Makes ids for the messages of a session. Messages stand in the order of their ids, and clients choose some by clocks of
 * their own, so a new one sorts after all that the session has, also when the clock here was set back over a restart.
 */
export const createMessageIDs =
  ({ store, ids }: { readonly store: Pick<Store, 'outline'>; readonly ids: Ids }): MessageIDs =>
  async (sessionID) => {
    const [last] = await store.outline(sessionID, { limit: 1 });
    return ids('message', last?.id);
  };
