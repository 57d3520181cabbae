import type { CoreFault } from '../core/fault.ts';
import { Fault } from '../core/fault.ts';
import type { ErrorResponses } from '../core/http/handler.ts';
import {
  clientError,
  errorResponse,
  internalErrorResponse,
  NEVER_RETRY,
  retryAfterHeader,
  serverError,
} from '../core/http/response.ts';
import { shownIdentifier } from '../core/identifier.ts';

/** Why the turns of the agent refuse a request. `ids`: the calls without a result, the tools that had run. */
export type TurnRefusalCode =
  /** The key came with another request before. */
  | 'key_reused'
  /** A retry of a turn that was aborted after tools had run: `ids` are their names. */
  | 'turn_aborted'
  | 'turn_not_found'
  | 'turn_running'
  /** A turn waits for a decision, whose id is in `ids`. */
  | 'turn_waiting'
  | 'conversation_not_found'
  | 'conversation_full'
  | 'conversation_busy'
  | 'conversation_changed'
  /** Results of some calls lack: `ids`. */
  | 'missing_results'
  /** A result whose call is nowhere. */
  | 'unknown_call'
  | 'no_such_request'
  | 'not_added'
  | 'message_not_found'
  /** The port cannot do it at all. */
  | 'unsupported';

/** A refusal of the turns: nothing was begun or changed. `ids`: what the code is about. */
type TurnRefusal = { readonly code: TurnRefusalCode; readonly ids: readonly string[] };

/** Every failure that the bridge expects. */
export type BridgeFault =
  | CoreFault
  /** The agent server was not reached, or broke off. `reason` is our own sentence. */
  | { readonly kind: 'backend-error'; readonly reason: string }
  /** The agent server refused, or its turn failed. `isRetryable`: nothing was begun, so asking again repeats nothing. */
  | {
      readonly kind: 'agent-failed';
      readonly status: number;
      readonly code: string;
      readonly message: string;
      readonly isRetryable: boolean;
      /** The member of our request that the agent did not accept, where it says so. */
      readonly path?: string | undefined;
    }
  | ({ readonly kind: 'turn-refused' } & TurnRefusal);

/** Why an answer failed, with OpenAI's error codes. `status` is the HTTP status while nothing of the answer was sent. */
export type AnswerFailure = { readonly status: number; readonly code: string; readonly message: string };

export const isBridgeFault = (error: unknown): error is Fault<BridgeFault> => error instanceof Fault;

const NAMED_IDS = 5;
const RETRY_AFTER_MS = 1000;

/** The names of calls and tools that may be shown, the first few. */
const namesIn = (ids: readonly string[]): string =>
  ids
    .flatMap((id) => shownIdentifier(id) ?? [])
    .slice(0, NAMED_IDS)
    .join(', ');

/** The error for a retry of a turn that was aborted after it had called tools: what they did is done. */
const abortedText = (tools: readonly string[]): string => {
  const names = namesIn([...new Set(tools)]);
  const called = names === '' ? 'Tools may have run before' : `Tools were called before: ${names}`;
  return `This turn was aborted before its end: its client had left, or a server was stopped. ${called}. What they did is not undone, so the turn is not run again by itself. Ask in the same conversation what was done, or send a new request`;
};

const notFound = (message: string): AnswerFailure => ({ status: 404, code: 'not_found', message });
const conflict = (message: string): AnswerFailure => ({ status: 409, code: 'conflict', message });

/** What a client reads where the turns refuse its request, if the endpoint has nothing better to say. */
const toRefusal = ({ code, ids }: TurnRefusal): AnswerFailure => {
  switch (code) {
    case 'key_reused': {
      const message = 'This Idempotency-Key came with another request before: use a new key for a new request';
      return { status: 400, code: 'idempotency_key_reused', message };
    }
    case 'turn_aborted':
      return { status: 409, code: 'turn_aborted', message: abortedText(ids) };
    case 'turn_not_found':
      return notFound('No such response for this API key');
    case 'conversation_not_found':
      return notFound('No such conversation for this API key');
    case 'turn_waiting':
      return conflict('A turn of this conversation waits for an approval');
    case 'message_not_found':
      return notFound('There is no item with this id in this conversation');
    case 'turn_running':
      return conflict('The response is still made: cancel it first, or wait for its end');
    case 'conversation_full':
      return { status: 503, code: 'overloaded', message: 'Too many requests wait for this conversation' };
    case 'conversation_busy':
      return conflict('A response is made in this conversation, or waits: try again when it has ended');
    case 'conversation_changed':
      return conflict('Other requests have changed this conversation at the same time: try again');
    case 'missing_results': {
      const message = `Results of calls are missing: ${namesIn(ids)}. Send the results of all calls of the last answer`;
      return { status: 400, code: 'missing_tool_result', message };
    }
    case 'unknown_call':
      return { status: 400, code: 'invalid_value', message: 'A result is given for a call that no message has' };
    case 'no_such_request':
      return notFound('No such permission request is open');
    case 'not_added':
      return { status: 400, code: 'unsupported_value', message: 'Only an item that was added can be deleted' };
    case 'unsupported':
      return { status: 400, code: 'unsupported_value', message: 'The agent server does not support this' };
    default:
      return code satisfies never;
  }
};

/** A fault as the failure of an answer. Its status, code and text are the same in a response and in a stream. */
export const toAnswerFailure = (detail: BridgeFault): AnswerFailure => {
  switch (detail.kind) {
    case 'agent-failed':
      return { status: detail.status, code: detail.code, message: detail.message };
    case 'backend-error':
      return { status: 502, code: 'agent_unreachable', message: detail.reason };
    case 'backend-timeout':
      return { status: 504, code: 'agent_timeout', message: 'The agent server did not answer in time' };
    case 'unavailable':
      return { status: 503, code: 'unavailable', message: detail.message };
    case 'overloaded':
      return { status: 503, code: 'overloaded', message: 'Too many requests are waiting' };
    case 'bad-input':
      return { status: 400, code: detail.code, message: detail.message };
    case 'not-found':
      return { status: 404, code: 'not_found', message: detail.hint };
    case 'turn-refused':
      return toRefusal(detail);
    default:
      return { status: 500, code: 'internal_error', message: 'The bridge failed' };
  }
};

const paramOf = ({ code }: TurnRefusal): string | null => (code === 'key_reused' ? 'Idempotency-Key' : null);

/** The one place where a failure of the bridge becomes an answer, in OpenAI's error shape. */
export const bridgeErrorResponse = (detail: BridgeFault): Response => {
  switch (detail.kind) {
    case 'agent-failed':
    case 'backend-error':
    case 'backend-timeout': {
      const { status, code, message } = toAnswerFailure(detail);
      const answer = status < 500 && status !== 429 ? clientError : serverError;
      const mayRetry = detail.kind !== 'agent-failed' || detail.isRetryable;
      return answer(status, code, message, mayRetry ? {} : NEVER_RETRY);
    }
    case 'turn-refused': {
      const { status, code, message } = toRefusal(detail);
      if (status === 503) return serverError(status, code, message, retryAfterHeader(RETRY_AFTER_MS));
      // A retry with the same key would be refused again.
      return clientError(status, code, message, detail.code === 'turn_aborted' ? NEVER_RETRY : {}, paramOf(detail));
    }
    default:
      return errorResponse(detail);
  }
};

/** How the bridge answers failures: in OpenAI's shape. */
export const BRIDGE_ERROR_RESPONSES = {
  forFault: bridgeErrorResponse,
  forBug: internalErrorResponse,
} satisfies ErrorResponses;
