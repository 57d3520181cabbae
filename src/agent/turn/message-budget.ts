import { sessionBytes } from '../session/sessions.ts';
import type { MessageWithParts } from '../store/store.ts';
import { SessionTooLarge } from './errors.ts';
import type { TurnContext } from './types.ts';

/**
 * Reads all messages of a session once the server may hold them, and holds their bytes until `work` has settled. Rejects with
 * `SessionTooLarge` where they never fit, or with the signal's reason.
 */
export const withMessages = async <Result>(
  { store, budget }: Pick<TurnContext, 'store' | 'budget'>,
  { sessionID, signal }: { readonly sessionID: string; readonly signal: AbortSignal },
  work: (messages: readonly MessageWithParts[]) => Promise<Result>,
): Promise<Result> => {
  const bytes = await sessionBytes(store, sessionID);
  if (bytes > budget.limitBytes) throw new SessionTooLarge(bytes, budget.limitBytes);
  const release = await budget.take(bytes, signal);
  try {
    return await work(await store.messages(sessionID));
  } finally {
    release();
  }
};
