import type { GiveBack } from '../../core/byte-budget.ts';
import { sessionBytes } from '../session/sessions.ts';
import { SessionTooLarge } from './errors.ts';
import type { TurnContext } from './types.ts';

/**
 * What is left of a request while its answer arrives: the messages and the body, which the SDK keeps to the end, and a body
 * again where the request is repeated. The budget counts ten times the size.
 */
const ANSWERING_SHARE = 1 / 3;

/** The bytes of a session's messages that a turn has taken. */
type TakenMessages = {
  /** Gives most of them back, once the model has begun to answer. */
  readonly onAnswer: () => void;
  readonly release: GiveBack;
};

/**
 * Waits until the server may hold all messages of a session. Rejects with
 * `SessionTooLarge` where they never fit, or with the signal's reason.
 */
export const takeMessages = async (
  { store, budget }: Pick<TurnContext, 'store' | 'budget'>,
  sessionID: string,
  signal: AbortSignal,
): Promise<TakenMessages> => {
  const bytes = await sessionBytes(store, sessionID);
  if (bytes > budget.limitBytes) throw new SessionTooLarge(bytes, budget.limitBytes);
  const release = await budget.take(bytes, signal);
  return { onAnswer: () => release(Math.ceil(bytes * ANSWERING_SHARE)), release };
};
