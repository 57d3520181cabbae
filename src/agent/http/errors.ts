import type { CoreFault } from '../../core/fault.ts';
import type { ErrorResponses } from '../../core/http/handler.ts';
import { jsonResponse } from '../../core/http/response.ts';

/** An error in the shape that OpenCode's clients know. */
const namedError = (
  status: number,
  name: string,
  data: Readonly<Record<string, unknown>>,
  headers: Readonly<Record<string, string>> = {},
): Response => jsonResponse(status, { name, data }, headers);

const retryAfter = (ms: number) => ({ 'retry-after': String(Math.max(1, Math.ceil(ms / 1000))) });

/** The one place where a fault of the agent server becomes a response. */
const toErrorResponse = (detail: CoreFault): Response => {
  switch (detail.kind) {
    case 'unauthorized':
      return namedError(
        401,
        'UnauthorizedError',
        { message: 'Send the user name and password of this server as Basic authentication' },
        { 'www-authenticate': 'Basic realm="gatehouse agent", charset="UTF-8"' },
      );
    case 'bad-input': {
      const { code, message, param } = detail;
      return namedError(400, 'BadRequest', { message, kind: 'Payload', code, path: param });
    }
    case 'model-not-found':
      return namedError(400, 'BadRequest', {
        message: `No such model. Models are: ${detail.valid.join(', ')}`,
        kind: 'Payload',
        code: 'model_not_found',
        path: 'model',
      });
    case 'not-found':
      return namedError(404, 'NotFoundError', { message: detail.hint });
    case 'conflict':
      return namedError(409, 'SessionBusyError', { message: detail.message });
    case 'method-not-allowed': {
      const allow = detail.allow.join(', ');
      return namedError(405, 'MethodNotAllowed', { message: `This path answers ${allow}` }, { allow });
    }
    case 'body-too-slow':
      return namedError(408, 'RequestTimeout', { message: 'The request body did not arrive in time' });
    case 'body-too-large': {
      const { limitBytes, message = `The body may have ${limitBytes} bytes at most` } = detail;
      return namedError(413, 'PayloadTooLarge', { message });
    }
    case 'unsupported-media-type':
      return namedError(415, 'UnsupportedMediaType', { message: 'Send the body as application/json' });
    case 'unavailable':
      return namedError(503, 'ServiceUnavailable', { message: detail.message }, retryAfter(detail.retryAfterMs));
    case 'rate-limited':
    case 'overloaded':
      return namedError(
        503,
        'ServiceUnavailable',
        { message: 'Too much is under way' },
        retryAfter(detail.retryAfterMs),
      );
    case 'backend-timeout':
      return namedError(502, 'BackendError', { message: 'Something behind this server did not answer' });
    case 'client-left':
      return new Response(null, { status: 499 });
    default:
      return detail satisfies never;
  }
};

/** How faults and bugs are answered, in the shape that OpenCode's clients expect. */
export const AGENT_ERROR_RESPONSES: ErrorResponses = {
  forFault: toErrorResponse,
  forBug: () => namedError(500, 'UnknownError', { message: 'The server failed. The request id leads to the log line' }),
};
