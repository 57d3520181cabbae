import { Fault } from '../../core/fault.ts';
import { ANSWER_CUT_OFF_TEXT } from '../../core/http/agent-api.ts';
import { INTERRUPTED_FAILURE } from '../agent/errors.ts';
import type { MessageErrorRecord } from '../agent/schema.ts';
import type { AnswerFailure, BridgeFault } from '../errors.ts';
import type { TurnSnapshot } from '../turns/port.ts';

/** How a turn ended, for its client. */
export type TurnEnd =
  | { readonly kind: 'answered'; readonly finish: 'stop' | 'length' | 'content_filter' }
  | { readonly kind: 'failed'; readonly failure: AnswerFailure };

const MESSAGE_CHARS = 300;
/** A backend may have answered with a whole HTML page. */
const READ_CHARS = 4000;
/** What looks like a key. The agent's message should have none, but it may quote its backend. */
const KEY_LIKE = /\b(?:(?:sk|pk)[-_]|(?:key|admin|bearer|token)[-_ :="']+(?=[\w.-]*\d))[\w.-]{8,}/gi;

/** The agent's error message in one line of limited length, without anything that looks like a key. */
const reasonOf = ({ name, data }: MessageErrorRecord): string => {
  const [message = ''] = [data.message ?? '', name]
    .map((text) =>
      text
        .slice(0, READ_CHARS)
        .replace(KEY_LIKE, '[redacted]')
        .replace(/[\s\p{C}]+/gu, ' ')
        .trim(),
    )
    .filter((text) => text !== '');
  return message.slice(0, MESSAGE_CHARS).toWellFormed();
};

type Finish = Extract<TurnEnd, { readonly kind: 'answered' }>['finish'];

const answered = (finish: Finish): TurnEnd => ({ kind: 'answered', finish });
const failed = (failure: AnswerFailure): TurnEnd => ({ kind: 'failed', failure });

const backendFailure = (error: MessageErrorRecord): TurnEnd => {
  const status = error.data.statusCode;
  if (status === 429)
    return failed({
      status: 429,
      code: 'rate_limit_exceeded',
      message: "The agent's model is out of requests for now",
    });
  const how = status === undefined ? '' : ` (HTTP ${status})`;
  return failed({ status: 502, code: 'model_error', message: `The agent's model failed${how}: ${reasonOf(error)}` });
};

const endWithError = (error: MessageErrorRecord): TurnEnd => {
  switch (error.name) {
    case 'MessageAbortedError':
    // The answer's reader sees that there is no value, and says so.
    case 'StructuredOutputError':
      return answered('stop');
    case 'MessageOutputLengthError':
      return answered('length');
    case 'ContentFilterError':
      return answered('content_filter');
    case 'ProviderAuthError':
      return failed({
        status: 502,
        code: 'model_unauthorized',
        message: "The agent's model provider refused the agent's key",
      });
    case 'ContextOverflowError':
      return failed({
        status: 400,
        code: 'context_length_exceeded',
        message: 'The conversation is too long for this model',
      });
    case 'APIError':
      return backendFailure(error);
    default:
      return failed({ status: 502, code: 'agent_error', message: `The agent's turn failed: ${reasonOf(error)}` });
  }
};

/** Whether a turn ended because its agent stopped. Else it was aborted for a client. */
const hasServerStopped = (error: MessageErrorRecord): boolean =>
  error.name === 'MessageAbortedError' && error.data.message === ANSWER_CUT_OFF_TEXT;

/** How a turn that has ended did so. */
export const turnEndOf = ({ status, error, finish }: Pick<TurnSnapshot, 'status' | 'error' | 'finish'>): TurnEnd => {
  if (error !== undefined) return hasServerStopped(error) ? failed(INTERRUPTED_FAILURE) : endWithError(error);
  if (status === 'failed') return failed(INTERRUPTED_FAILURE);
  if (finish === 'length') return answered('length');
  return answered(finish === 'content-filter' ? 'content_filter' : 'stop');
};

/** A failed answer as a fault. Not retryable, because a retry would run the turn again. */
export const toFault = ({ status, code, message }: AnswerFailure): Fault<BridgeFault> =>
  new Fault({ kind: 'agent-failed', status, code, message, isRetryable: false });

/** For output events without `end` or `failure`, which is a bug of the bridge. */
export const missingEndError = (): Error =>
  new Error('The output events of an answer ended without `end` or `failure`');
