import type { CoreFault } from '../core/fault.ts';
import type { ErrorResponses } from '../core/http/handler.ts';
import {
  errorResponse,
  internalErrorResponse,
  isHopelessWait,
  NEVER_RETRY,
  retryAfterHeader,
  serverError,
} from '../core/http/response.ts';
import type { BackendFault } from '../llm/errors.ts';

/** Every failure that the gateway expects. */
export type GatewayFault =
  | CoreFault
  | BackendFault
  /** The backend answered twice, and neither answer was a verdict. */
  | { readonly kind: 'backend-unusable'; readonly reason: string };

/** The one place where a failure of the gateway becomes an answer, in OpenAI's error shape. */
export const gatewayErrorResponse = (detail: GatewayFault): Response => {
  switch (detail.kind) {
    case 'no-backend-key':
      return serverError(503, 'no_backend_key', 'Every backend key is cooling down', {
        ...retryAfterHeader(detail.retryAfterMs),
        ...(isHopelessWait(detail.retryAfterMs) ? NEVER_RETRY : {}),
      });
    case 'backend-error':
      return serverError(
        502,
        'backend_error',
        `The backend could not answer: ${detail.reason}`,
        detail.isFinal === true ? NEVER_RETRY : {},
      );
    case 'backend-unusable':
      return serverError(
        502,
        'backend_unusable_reply',
        `The backend gave no usable verdict: ${detail.reason}`,
        NEVER_RETRY,
      );
    default:
      return errorResponse(detail);
  }
};

export const GATEWAY_ERRORS: ErrorResponses = { forFault: gatewayErrorResponse, forBug: internalErrorResponse };
