import { Fault } from '../../core/fault.ts';
import type { AssistantInfo, MessageErrorRecord } from '../agent/schema.ts';
import type { BridgeFault } from '../errors.ts';
import type { AnswerFailure } from '../output.ts';
import type { TurnEnd } from './log.ts';

const MESSAGE_CHARS = 300;
/** A backend may have answered with a whole page. */
const READ_CHARS = 4000;
/** What looks like a key. The agent's words should hold none, but they are not all its own. */
const KEY_LIKE = /\b(?:(?:sk|pk)[-_]|(?:key|admin|bearer|token)[-_ :="']+(?=[\w.-]*\d))[\w.-]{8,}/gi;

/** The agent's reason in one bounded line without anything that looks like a key. */
const reasonOf = ({ name, data }: MessageErrorRecord): string => {
  const [words = ''] = [data.message ?? '', name]
    .map((text) =>
      text
        .slice(0, READ_CHARS)
        .replace(KEY_LIKE, '[redacted]')
        .replace(/[\s\p{C}]+/gu, ' ')
        .trim(),
    )
    .filter((text) => text !== '');
  return words.slice(0, MESSAGE_CHARS).toWellFormed();
};

const failed = (failure: AnswerFailure): TurnEnd => ({ kind: 'failed', failure });

const ofBackend = (error: MessageErrorRecord): AnswerFailure => {
  const status = error.data.statusCode;
  if (status === 429)
    return { status: 429, code: 'rate_limit_exceeded', message: "The agent's model is out of requests for now" };
  const answered = status === undefined ? '' : ` (HTTP ${status})`;
  return { status: 502, code: 'model_error', message: `The agent's model failed${answered}: ${reasonOf(error)}` };
};

const endOf = (error: MessageErrorRecord): TurnEnd => {
  switch (error.name) {
    case 'MessageAbortedError':
      return { kind: 'answered', finish: 'stop' };
    case 'MessageOutputLengthError':
      return { kind: 'answered', finish: 'length' };
    case 'ContentFilterError':
      return { kind: 'answered', finish: 'content_filter' };
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
      return failed(ofBackend(error));
    default:
      return failed({ status: 502, code: 'agent_error', message: `The agent's turn failed: ${reasonOf(error)}` });
  }
};

/** How a turn ended, by its last message. */
export const toTurnEnd = ({ error, finish }: AssistantInfo): TurnEnd => {
  if (error !== undefined) return endOf(error);
  if (finish === 'length') return { kind: 'answered', finish: 'length' };
  if (finish === 'content-filter') return { kind: 'answered', finish: 'content_filter' };
  return { kind: 'answered', finish: 'stop' };
};

/** What a turn comes to whose agent was started anew, or could not be reached any more. */
export const INTERRUPTED: TurnEnd = failed({
  status: 502,
  code: 'agent_interrupted',
  message: 'The agent server went away before it had answered. What it has done so far stands',
});

/** How a fault is told in a stream whose status was sent already. */
export const toAnswerFailure = (detail: BridgeFault): AnswerFailure => {
  switch (detail.kind) {
    case 'agent-failed':
      return { status: detail.status, code: detail.code, message: detail.message };
    case 'unavailable':
      return { status: 503, code: 'unavailable', message: detail.message };
    case 'backend-error':
      return {
        status: 502,
        code: 'agent_unreachable',
        message: `The agent server could not be reached: ${detail.reason}`,
      };
    case 'backend-timeout':
      return { status: 504, code: 'agent_timeout', message: 'The agent server did not answer in time' };
    case 'rate-limited':
    case 'overloaded':
      return { status: 429, code: 'rate_limit_exceeded', message: 'Too much is under way in this conversation' };
    case 'bad-input':
      return { status: 400, code: detail.code, message: detail.message };
    case 'not-found':
      return { status: 404, code: 'not_found', message: detail.hint };
    default:
      return { status: 500, code: 'internal_error', message: 'The bridge failed' };
  }
};

/** A failed answer as the fault it is answered with. Asking again would run the turn again, so no client is told to. */
export const toFault = ({ status, code, message }: AnswerFailure): Fault<BridgeFault> =>
  new Fault({ kind: 'agent-failed', status, code, message, isRetryable: false });

/** For a source of sayings that ended without a last one, which is a bug of ours. */
export const missingEndError = (): Error => new Error('An answer ended without its last word');
