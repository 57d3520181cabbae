import type { AssistantMessage } from '../protocol/types.ts';
import { StoreUnavailableError } from '../store/errors.ts';
import type { TurnContext } from './types.ts';

/**
 * The message with the usage that the store has for it, after a failure. A commit that failed because the store was away may
 * have been stored, and the message then has its cost, as its session has: closed without it, the two would differ.
 */
export const withStoredUsage = async (
  { publish, store }: Pick<TurnContext, 'publish' | 'store'>,
  message: AssistantMessage,
  failure: unknown,
): Promise<AssistantMessage> => {
  if (!(failure instanceof StoreUnavailableError)) return message;
  try {
    // A commit waits for a store that is away, and a read does not.
    await publish({});
    const stored = (await store.message(message.sessionID, message.id))?.info;
    return stored?.role === 'assistant' ? { ...message, cost: stored.cost, tokens: stored.tokens } : message;
  } catch {
    return message;
  }
};
