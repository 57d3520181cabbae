import { Fault } from '../../core/fault.ts';
import { ANSWER_CUT_OFF_TEXT } from '../../core/http/answer-cut-off.ts';
import { shownIdentifier } from '../../core/identifier.ts';
import type { AssistantInfo, MessageErrorRecord } from '../agent/schema.ts';
import type { AnswerFailure, BridgeFault } from '../errors.ts';
import type { TurnEnd } from './log.ts';

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

const failed = (failure: AnswerFailure): TurnEnd => ({ kind: 'failed', failure });

const toBackendFailure = (error: MessageErrorRecord): AnswerFailure => {
  const status = error.data.statusCode;
  if (status === 429)
    return { status: 429, code: 'rate_limit_exceeded', message: "The agent's model is out of requests for now" };
  const answered = status === undefined ? '' : ` (HTTP ${status})`;
  return { status: 502, code: 'model_error', message: `The agent's model failed${answered}: ${reasonOf(error)}` };
};

const toFailedEnd = (error: MessageErrorRecord): TurnEnd => {
  switch (error.name) {
    case 'MessageAbortedError':
      return { kind: 'answered', finish: 'stop' };
    case 'MessageOutputLengthError':
      return { kind: 'answered', finish: 'length' };
    case 'ContentFilterError':
      return { kind: 'answered', finish: 'content_filter' };
    // The answer's reader sees that there is no value, and says so.
    case 'StructuredOutputError':
      return { kind: 'answered', finish: 'stop' };
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
      return failed(toBackendFailure(error));
    default:
      return failed({ status: 502, code: 'agent_error', message: `The agent's turn failed: ${reasonOf(error)}` });
  }
};

/** How a turn ended, read from its last message. */
export const toTurnEnd = ({ error, finish }: AssistantInfo): TurnEnd => {
  if (error !== undefined) return toFailedEnd(error);
  if (finish === 'length') return { kind: 'answered', finish: 'length' };
  if (finish === 'content-filter') return { kind: 'answered', finish: 'content_filter' };
  return { kind: 'answered', finish: 'stop' };
};

/** The failure of a turn whose agent was restarted, or cannot be reached any more. */
export const INTERRUPTED_FAILURE: AnswerFailure = {
  status: 502,
  code: 'agent_interrupted',
  message: 'The agent server stopped before it had answered. What it has done until then is not undone',
};
export const INTERRUPTED: TurnEnd = failed(INTERRUPTED_FAILURE);

/** Whether a turn ended because its agent stopped. Else it was aborted for a client. */
export const hasServerStopped = (error: MessageErrorRecord | undefined): boolean =>
  isAbortError(error) && error?.data.message === ANSWER_CUT_OFF_TEXT;

/** Whether a turn was aborted, or its agent stopped. */
export const isAbortError = (error: Pick<MessageErrorRecord, 'name'> | undefined): boolean =>
  error?.name === 'MessageAbortedError';

const NAMED_TOOLS = 5;

/** The error for a retry of a turn that was aborted after it had called tools: what they did is done. */
export const abortedFailure = (toolNames: readonly string[]): AnswerFailure => {
  const names = [...new Set(toolNames.flatMap((name) => shownIdentifier(name) ?? []))].slice(0, NAMED_TOOLS);
  const called = names.length === 0 ? 'Tools may have run before' : `Tools were called before: ${names.join(', ')}`;
  return {
    status: 409,
    code: 'turn_aborted',
    message: `This turn was aborted because its client had left. ${called}. What they did is not undone, so the turn is not run again by itself. Ask in the same conversation what was done, or send a new request`,
  };
};

/** The error for a retry of an answered request whose answer is neither here nor at the agent any more. */
export const ANSWER_NOT_KEPT: AnswerFailure = {
  status: 409,
  code: 'answer_not_kept',
  message:
    'This request was answered before, and its answer is not kept any more. It is not run again by itself, because what tools did would be done twice. Ask in the same conversation what was done, or send a new request',
};

/** A failed answer as a fault. Not retryable, because a retry would run the turn again. */
export const toFault = ({ status, code, message }: AnswerFailure): Fault<BridgeFault> =>
  new Fault({ kind: 'agent-failed', status, code, message, isRetryable: false });

/** For output events without `end` or `failure`, which is a bug of the bridge. */
export const missingEndError = (): Error =>
  new Error('The output events of an answer ended without `end` or `failure`');
