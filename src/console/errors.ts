import type { CoreFault } from '../core/fault.ts';
import type { ErrorResponses } from '../core/http/handler.ts';
import { clientError, errorResponse, internalErrorResponse } from '../core/http/response.ts';

/** Every failure that the console expects. */
export type ConsoleFault = CoreFault | { readonly kind: 'forbidden'; readonly message: string };

/** The one place where a failure of the console becomes an answer. */
export const consoleErrorResponse = (detail: ConsoleFault): Response => {
  switch (detail.kind) {
    case 'forbidden':
      return clientError(403, 'forbidden', detail.message);
    case 'unauthorized':
      return clientError(401, 'login_required', 'Log in first: POST /api/login with name and password');
    default:
      return errorResponse(detail);
  }
};

/** How the console answers failures: in the shape of the other services. */
export const CONSOLE_ERROR_RESPONSES = {
  forFault: consoleErrorResponse,
  forBug: internalErrorResponse,
} satisfies ErrorResponses;
