import type { CoreFault } from '../core/fault.ts';
import type { ErrorResponses } from '../core/http/handler.ts';
import {
  clientError,
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
  /** A part of the input that the alias cannot judge: an image, or a part of another type. */
  | { readonly kind: 'unjudged-input'; readonly code: string; readonly param: string; readonly message: string }
  /** A text that the guard face cannot judge. Another service may: the caller is to try that one. */
  | { readonly kind: 'unjudged-text'; readonly message: string }
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
    case 'unjudged-input':
      return clientError(400, detail.code, detail.message, {}, detail.param);
    case 'unjudged-text':
      return serverError(503, 'unjudged_text', detail.message, NEVER_RETRY);
    case 'body-too-large':
      // As every input that is too long. After a 413, a relay platform stops asking for ten seconds, for all its users.
      return clientError(400, 'body_too_large', `The request body is over ${detail.limitBytes} bytes`);
    default:
      return errorResponse(detail);
  }
};

export const GATEWAY_ERRORS: ErrorResponses = { forFault: gatewayErrorResponse, forBug: internalErrorResponse };
