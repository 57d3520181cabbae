import type { Log, LogFields } from '../../core/log.ts';
import type { ModelError } from '../model/types.ts';
import type { AssistantMessage } from '../protocol/types.ts';

/** What is logged of a failed request to a model: the status, or the kind of failure where no status arrived. */
const failureFields = ({ kind, code, statusCode }: ModelError): LogFields =>
  statusCode === undefined ? { reason: code === undefined ? kind : `${kind} (${code})` } : { status: statusCode };

/** The log of what fails in one turn, without any text of a model or a user. */
export type FailureLog = {
  /** A request is sent to the model, for the first time or again. */
  readonly onAttempt: (count: number) => void;
  /** It failed. `restMs` is the delay before it is sent again; undefined when it is not. */
  readonly onFailedAttempt: (error: ModelError, restMs: number | undefined) => void;
  /** The turn has ended with this message. An aborted turn is no warning: someone asked for it. */
  readonly onEnd: (message: AssistantMessage) => void;
};

/** Logs the first failed attempt of a request at once, because all attempts together take a minute or more, and then the turn. */
export const createFailureLog = (log: Log, session: string, model: string): FailureLog => {
  let final: ModelError | undefined;
  let attempts = 0;
  return {
    onAttempt(count) {
      attempts = count;
    },
    onFailedAttempt(error, restMs) {
      final = restMs === undefined ? error : undefined;
      if (restMs !== undefined && attempts === 1)
        log('warn', 'model-call-failed', { session, model, ...failureFields(error), restMs });
    },
    onEnd({ providerID, modelID, error }) {
      if (error === undefined) return;
      const level = error.name === 'MessageAbortedError' ? 'info' : 'warn';
      log(level, 'turn-failed', {
        session,
        model: `${providerID}/${modelID}`,
        fault: error.name,
        ...(error.name === 'APIError' && final !== undefined ? failureFields(final) : {}),
        count: attempts,
      });
    },
  };
};
