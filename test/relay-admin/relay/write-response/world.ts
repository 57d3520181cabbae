import type { HttpResponse } from '../../../../src/core/http/client.ts';
import { toWriteAnswer, type UnknownReason, type WriteAnswer } from '../../../../src/relay-admin/relay/response.ts';

const received = (
  status: number,
  body: unknown = '',
  headers: Readonly<Record<string, string>> = {},
): HttpResponse => ({
  status,
  text: typeof body === 'string' ? body : JSON.stringify(body),
  header: (name) => headers[name] ?? null,
});
/** How an answer of this status, body and headers is understood. */
export const answerTo = (...given: Parameters<typeof received>): WriteAnswer => toWriteAnswer(received(...given));
/** A refusal under this status. */
export const refused = (status: number, isBeforeHandler = false): WriteAnswer => ({
  kind: 'refused',
  status,
  isBeforeHandler,
});
/** An answer that leaves this doubt. */
export const doubtful = (doubt: UnknownReason): WriteAnswer => ({ kind: 'unknown', reason: doubt });

/** Status and code of a refusal, and what they say of the change. */
export const REFUSALS: readonly (readonly [number, string, WriteAnswer])[] = [
  [400, 'IDEMPOTENCY_KEY_INVALID', refused(400)],
  [400, 'IDEMPOTENCY_KEY_REQUIRED', refused(400)],
  [401, 'INVALID_ADMIN_KEY', refused(401, true)],
  [401, 'UNAUTHORIZED', refused(401, true)],
  [403, 'FORBIDDEN', refused(403, true)],
  [404, 'USER_NOT_FOUND', refused(404)],
  [413, 'BODY_TOO_LARGE', refused(413)],
  [423, 'ADMIN_COMPLIANCE_ACK_REQUIRED', refused(423, true)],
  [429, 'PANEL_RATE_LIMITED', refused(429, true)],
  [409, 'IDEMPOTENCY_KEY_CONFLICT', refused(409, true)],
  [409, 'IDEMPOTENCY_IN_PROGRESS', doubtful('in-progress')],
  [409, 'IDEMPOTENCY_RETRY_BACKOFF', doubtful('retry-backoff')],
  [503, 'IDEMPOTENCY_STORE_UNAVAILABLE', doubtful('store-unavailable')],
  [409, 'SOMETHING_ELSE', doubtful('server-error')],
  [500, 'INTERNAL_ERROR', doubtful('server-error')],
  [503, 'SERVICE_UNAVAILABLE', doubtful('server-error')],
];
