import type { CoreFault } from '../core/fault.ts';
import { Fault } from '../core/fault.ts';
import { clientError, errorResponse, NEVER_RETRY, serverError } from '../core/http/response.ts';

/** Every failure that the bridge expects. */
export type BridgeFault =
  | CoreFault
  /** The agent server was not reached, or broke off. `reason` is our own text. */
  | { readonly kind: 'backend-error'; readonly reason: string }
  /** The agent server refused, or its turn failed. `isRetryable`: nothing was begun, so asking again repeats nothing. */
  | {
      readonly kind: 'agent-failed';
      readonly status: number;
      readonly code: string;
      readonly message: string;
      readonly isRetryable: boolean;
    };

export const isBridgeFault = (error: unknown): error is Fault<BridgeFault> => error instanceof Fault;

/** The one place where a failure of the bridge becomes an answer, in OpenAI's error shape. */
export const bridgeErrorResponse = (detail: BridgeFault): Response => {
  switch (detail.kind) {
    case 'agent-failed': {
      const { status, code, message, isRetryable } = detail;
      const answer = status < 500 && status !== 429 ? clientError : serverError;
      return answer(status, code, message, isRetryable ? {} : NEVER_RETRY);
    }
    case 'backend-error':
      return serverError(502, 'backend_error', `The backend could not answer: ${detail.reason}`);
    default:
      return errorResponse(detail);
  }
};
