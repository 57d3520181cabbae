import type { CoreFault } from '../fault.ts';

/** An answer whose JSON is written already. */
export const jsonTextResponse = (
  status: number,
  json: string,
  headers: Readonly<Record<string, string>> = {},
): Response => new Response(json, { status, headers: { 'content-type': 'application/json', ...headers } });

/** A JSON answer. */
export const jsonResponse = (status: number, body: unknown, headers?: Readonly<Record<string, string>>): Response =>
  jsonTextResponse(status, JSON.stringify(body), headers);

/** The largest error body we send; clients log these whole. */
const BODY_LIMIT_BYTES = 512;
/** A wait longer than this is hopeless for a client's own retries, so the response says not to try. */
const HOPELESS_AFTER_SECONDS = 30;

type ErrorBody = {
  readonly message: string;
  readonly type: string;
  readonly param: string | null;
  readonly code: string;
};
type ErrorHeaders = Readonly<Record<string, string>>;

/** Cuts a message so that the whole body stays within its limit in bytes, as long as its other members do. */
const fitted = (body: ErrorBody, chars = body.message.length): string => {
  const message = chars < body.message.length ? `${body.message.slice(0, chars)}...` : body.message;
  const text = JSON.stringify({ error: { ...body, message } });
  const excess = new TextEncoder().encode(text).length - BODY_LIMIT_BYTES;
  // No UTF-16 unit takes more than six bytes, so no more is cut than must go. Half a pair takes six, so no cut ends in one.
  return excess <= 0 || chars === 0 ? text : fitted(body, Math.max(0, chars - Math.ceil(excess / 6)));
};

const jsonError = (status: number, body: ErrorBody, headers: ErrorHeaders = {}): Response =>
  jsonTextResponse(status, fitted(body), headers);

/** An error that the caller can mend: 4xx. */
export const clientError = (
  status: number,
  code: string,
  message: string,
  headers: ErrorHeaders = {},
  param: string | null = null,
) => jsonError(status, { message, type: 'invalid_request_error', param, code }, headers);

/** An error that is not the caller's: 5xx, and 429. */
export const serverError = (status: number, code: string, message: string, headers: ErrorHeaders = {}) =>
  jsonError(
    status,
    { message, type: status === 429 ? 'rate_limit_error' : 'server_error', param: null, code },
    headers,
  );

/** A shorter wait in `Retry-After` would have clients hammer the service, a longer one lose them. */
const RETRY_AFTER_SECONDS = { least: 1, most: 120 } as const;
const secondsOf = (ms: number): number =>
  Math.min(RETRY_AFTER_SECONDS.most, Math.max(RETRY_AFTER_SECONDS.least, Math.ceil(ms / 1000)));
/** A `Retry-After` header, within `RETRY_AFTER_SECONDS`. */
export const retryAfterHeader = (ms: number): ErrorHeaders => ({ 'retry-after': String(secondsOf(ms)) });
/** `x-should-retry` is obeyed by the official OpenAI clients before their own rules. */
export const NEVER_RETRY: ErrorHeaders = { 'x-should-retry': 'false' };

/** Whether a client's own retries would all come too early. */
export const isHopelessWait = (retryAfterMs: number): boolean => secondsOf(retryAfterMs) > HOPELESS_AFTER_SECONDS;

/** A failure that was not expected: the response has no detail. */
export const internalErrorResponse = (): Response =>
  serverError(500, 'internal_error', 'The service failed. The request id leads to the log line');

/** The one place where a failure that every service expects becomes an answer, in OpenAI's error shape. */
export const errorResponse = (detail: CoreFault): Response => {
  switch (detail.kind) {
    case 'unauthorized':
      return clientError(
        401,
        'invalid_api_key',
        'Missing or wrong key: send Authorization: Bearer <a key of this service>',
        {
          'www-authenticate': 'Bearer',
        },
      );
    case 'bad-input':
      return clientError(400, detail.code, detail.message, {}, detail.param);
    case 'model-not-found': {
      const { message = 'No such model', valid } = detail;
      return clientError(404, 'model_not_found', `${message}. Valid models: ${valid.join(', ')}`, {}, 'model');
    }
    case 'not-found':
      return clientError(404, 'not_found', detail.hint);
    case 'conflict':
      return clientError(409, 'conflict', detail.message);
    case 'method-not-allowed':
      return clientError(405, 'method_not_allowed', `This path answers ${detail.allow.join(', ')}`, {
        allow: detail.allow.join(', '),
      });
    case 'body-too-slow':
      return clientError(408, 'body_timeout', 'The request body did not arrive in time', NEVER_RETRY);
    case 'body-too-large':
      return clientError(413, 'body_too_large', `The request body is over ${detail.limitBytes} bytes`);
    case 'unsupported-media-type':
      return clientError(415, 'unsupported_media_type', 'Send the body as application/json');
    case 'rate-limited':
      return serverError(
        429,
        'rate_limit_exceeded',
        'Too many requests; Retry-After says when to try again',
        retryAfterHeader(detail.retryAfterMs),
      );
    case 'unavailable':
      return serverError(503, 'unavailable', detail.message, retryAfterHeader(detail.retryAfterMs));
    case 'overloaded':
      return serverError(503, 'overloaded', 'Too many requests are waiting', retryAfterHeader(detail.retryAfterMs));
    case 'backend-timeout':
      return serverError(504, 'backend_timeout', 'The backend did not answer before the deadline');
    case 'client-left':
      return new Response(null, { status: 499 });
    default:
      detail satisfies never;
      return internalErrorResponse();
  }
};
