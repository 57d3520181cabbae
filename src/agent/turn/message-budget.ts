import { sessionBytes } from '../session/sessions.ts';
import { SessionTooLarge } from './errors.ts';
import type { TurnContext } from './types.ts';

/**
 * Waits until the server may hold all messages of a session. Call what it returns when they are dropped. Rejects with
 * `SessionTooLarge` where they never fit, or with the signal's reason.
 */
export const takeMessages = async (
  { store, budget }: Pick<TurnContext, 'store' | 'budget'>,
  sessionID: string,
  signal: AbortSignal,
): Promise<() => void> => {
  const bytes = await sessionBytes(store, sessionID);
  if (bytes > budget.limitBytes) throw new SessionTooLarge(bytes, budget.limitBytes);
  return budget.take(bytes, signal);
};
