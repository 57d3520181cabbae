import type { CoreFault } from '../core/fault.ts';
import { Fault } from '../core/fault.ts';
import type { ErrorResponses } from '../core/http/handler.ts';
import { clientError, errorResponse, internalErrorResponse, NEVER_RETRY, serverError } from '../core/http/response.ts';

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
    };

/** Why an answer failed, with OpenAI's error codes. `status` is the HTTP status while nothing of the answer was sent. */
export type AnswerFailure = { readonly status: number; readonly code: string; readonly message: string };

export const isBridgeFault = (error: unknown): error is Fault<BridgeFault> => error instanceof Fault;

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
    default:
      return { status: 500, code: 'internal_error', message: 'The bridge failed' };
  }
};

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
    default:
      return errorResponse(detail);
  }
};

/** How the bridge answers failures: in OpenAI's shape. */
export const BRIDGE_ERROR_RESPONSES = {
  forFault: bridgeErrorResponse,
  forBug: internalErrorResponse,
} satisfies ErrorResponses;
