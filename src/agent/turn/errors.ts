import { Fault } from '../../core/fault.ts';
import type { Publication } from '../events/publisher.ts';
import { ModelError } from '../model/types.ts';
import type { AssistantMessage, MessageError } from '../protocol/types.ts';
import { ABORTED_ERROR, RunAborted, SERVER_STOPPED_ERROR } from '../session/run-queue.ts';
import { isStoreFailure, LeaseLostError } from '../store/errors.ts';
import type { Store } from '../store/store.ts';

/** Why a turn ended that took too long. */
export class TurnTimeout extends Error {
  override readonly name = 'TurnTimeout';

  constructor(limitMs: number) {
    super(`The turn was not done after ${limitMs} ms`);
  }
}

/** Why a turn ended whose session has more messages than the server may hold. */
export class SessionTooLarge extends Error {
  override readonly name = 'SessionTooLarge';

  constructor(bytes: number, limitBytes: number) {
    super(`The session holds ${bytes} bytes, and this server can read no more than ${limitBytes}. Begin a new session`);
  }
}

const fromModelError = (error: ModelError, providerID: string): MessageError => {
  const { kind, message, statusCode, isRetryable } = error;
  if (kind === 'auth') return { name: 'ProviderAuthError', data: { providerID, message } };
  if (kind === 'overflow') return { name: 'ContextOverflowError', data: { message } };
  if (kind === 'content-filter') return { name: 'ContentFilterError', data: { message } };
  return { name: 'APIError', data: { message, isRetryable, ...(statusCode === undefined ? {} : { statusCode }) } };
};

/** The wire format's error for a failed turn. Of a bug it says only that there was one. */
export const toMessageError = (error: unknown, providerID: string): MessageError => {
  if (error instanceof ModelError) return fromModelError(error, providerID);
  if (error instanceof TurnTimeout || error instanceof SessionTooLarge || isStoreFailure(error))
    return serverEndedTurn(error.message);
  if (error instanceof RunAborted && error.isByStop) return SERVER_STOPPED_ERROR;
  if (
    error instanceof RunAborted ||
    error instanceof LeaseLostError ||
    (error instanceof Fault && error.detail.kind === 'client-left')
  ) {
    return ABORTED_ERROR;
  }
  return { name: 'UnknownError', data: { message: 'The server failed in a way it should not' } };
};

/** Whether a turn may end with this error. Any other error is a bug. */
export const isExpectedEnd = (error: unknown): boolean =>
  error instanceof ModelError ||
  error instanceof RunAborted ||
  error instanceof LeaseLostError ||
  error instanceof SessionTooLarge ||
  error instanceof TurnTimeout;

/** The error of a turn whose model gave no value that fits its schema. */
export const noStructuredOutput = (reason: string, retries: number): MessageError => ({
  name: 'StructuredOutputError',
  data: { message: `The model gave no value that fits the schema: ${reason}`, retries },
});

/** The error of a turn that the server itself ended. */
export const serverEndedTurn = (message: string): MessageError => ({ name: 'UnknownError', data: { message } });

/**
 * The message with the usage that the store has for it, after a failure. A commit that failed because the store was away may
 * have been stored, and the message then has its cost, as its session has: closed without it, the two would differ.
 */
export const withStoredUsage = async (
  { publish, store }: { readonly publish: (fact: Publication) => Promise<unknown>; readonly store: Store },
  message: AssistantMessage,
  failure: unknown,
): Promise<AssistantMessage> => {
  if (!isStoreFailure(failure)) return message;
  try {
    // A commit waits for a store that is away, and a read does not.
    await publish({});
    const stored = (await store.message(message.sessionID, message.id))?.info;
    return stored?.role === 'assistant' ? { ...message, cost: stored.cost, tokens: stored.tokens } : message;
  } catch {
    return message;
  }
};
