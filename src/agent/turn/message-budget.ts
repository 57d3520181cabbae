import { sessionBytes } from '../session/sessions.ts';
import type { MessageWithParts } from '../store/store.ts';
import { SessionTooLarge } from './errors.ts';
import type { TurnContext } from './types.ts';

/**
 * What is left of a request while its answer arrives: the messages and the body, which the SDK keeps to the end, and a body
 * again where the request is repeated. The budget counts ten times the size.
 */
const ANSWERING_SHARE = 1 / 3;

/** Works with all messages of a session. `onAnswer` gives most of their bytes back, once the model has begun to answer. */
type MessageWork<Result> = (messages: readonly MessageWithParts[], onAnswer: () => void) => Promise<Result>;

/**
 * Reads all messages of a session once the server may hold them, and holds their bytes until `work` has settled. Rejects with
 * `SessionTooLarge` where they never fit, or with the signal's reason.
 */
export const withMessages = async <Result>(
  { store, budget }: Pick<TurnContext, 'store' | 'budget'>,
  { sessionID, signal }: { readonly sessionID: string; readonly signal: AbortSignal },
  work: MessageWork<Result>,
): Promise<Result> => {
  const bytes = await sessionBytes(store, sessionID);
  if (bytes > budget.limitBytes) throw new SessionTooLarge(bytes, budget.limitBytes);
  const release = await budget.take(bytes, signal);
  try {
    return await work(await store.messages(sessionID), () => release(Math.ceil(bytes * ANSWERING_SHARE)));
  } finally {
    release();
  }
};
