import * as v from 'valibot';
import { HttpClientError, type HttpResponse, isNeverConnected } from '../../core/http/client.ts';
import { isRecord, parseJsonValue } from '../../core/json.ts';
import { unexpectedShape } from '../errors/errors.ts';

/** The payload of a success (`{"code":0,"message":"success","data":...}`); `undefined` for any other text. */
export const parseEnvelope = (text: string): { readonly data: unknown } | undefined => {
  const body = parseJsonValue(text);
  return isRecord(body) && body.code === 0 ? { data: body.data } : undefined;
};

/** What the relay answered, as the schema has it. Throws `upstream-contract` when it does not fit. */
export const parseAnswer = <const Schema extends v.GenericSchema>(
  schema: Schema,
  answer: unknown,
): v.InferOutput<Schema> => {
  const parsed = v.safeParse(schema, answer, { abortEarly: true });
  if (!parsed.success) throw unexpectedShape();
  return parsed.output;
};

/** Whether a text is JSON at all: a proxy's or a web page's answer is not. */
export const isJsonText = (text: string): boolean => parseJsonValue(text) !== undefined;

const CODE = /^[A-Z][A-Z0-9_]{0,63}$/;

/**
 * The relay's error code of a refusal, from either of its two error shapes: a text as `code`, or a number with a `reason`.
 * `undefined` when it does not have the form of a code: it may then be any text.
 */
export const parseRefusalCode = (text: string): string | undefined => {
  const body = parseJsonValue(text);
  if (!isRecord(body)) return undefined;
  const word = typeof body.code === 'string' ? body.code : body.reason;
  return typeof word === 'string' && CODE.test(word) ? word : undefined;
};

/** Why the outcome of a change is unknown. The journal stores these words. */
export const UNKNOWN_REASONS = [
  'no-answer',
  'timed-out',
  'redirected',
  'server-error',
  'unusable-answer',
  'in-progress',
  'retry-backoff',
  'store-unavailable',
] as const;
export type UnknownReason = (typeof UNKNOWN_REASONS)[number];

/** The outcome of a change that was sent, as far as the answer shows. */
export type WriteAnswer =
  /** `isReplay`: the relay had carried it out before and repeats its earlier answer. */
  | { readonly kind: 'accepted'; readonly data: unknown; readonly isReplay: boolean }
  /**
   * The relay refused. `isBeforeHandler`: its answer is one that the platform gives before it begins with the change. Only
   * what is read afterwards shows what it did: a refusal was seen after a credit. Status 0: no connection was ever made, so
   * nothing was sent.
   */
  | { readonly kind: 'refused'; readonly status: number; readonly isBeforeHandler: boolean }
  | { readonly kind: 'unknown'; readonly reason: UnknownReason };

/** Statuses of a refusal. Any other status says nothing about the change. */
const REFUSALS = new Set([400, 401, 403, 404, 413, 423, 429]);
/** Key and terms are checked before the handlers, and only there is `code` a text. A proxy's answer has no such code. */
const CHECKED_BEFORE_HANDLERS = new Set([401, 403, 423]);
/** Every limit of requests, the platform's and a proxy's, is checked before the handlers. */
const RATE_LIMITED = 429;

const hasTextCode = (text: string): boolean => {
  const body = parseJsonValue(text);
  return isRecord(body) && typeof body.code === 'string' && CODE.test(body.code);
};

const UNKNOWN_REASON_BY_CODE: Readonly<Record<string, UnknownReason>> = {
  IDEMPOTENCY_IN_PROGRESS: 'in-progress',
  IDEMPOTENCY_RETRY_BACKOFF: 'retry-backoff',
  IDEMPOTENCY_STORE_UNAVAILABLE: 'store-unavailable',
};

const unknown = (doubt: UnknownReason): WriteAnswer => ({ kind: 'unknown', reason: doubt });

/** The outcome that an HTTP answer shows. */
export const toWriteAnswer = ({ status, text, header }: HttpResponse): WriteAnswer => {
  if (status >= 200 && status < 300) {
    const envelope = parseEnvelope(text);
    if (envelope === undefined) return unknown('unusable-answer');
    return { kind: 'accepted', data: envelope.data, isReplay: header('x-idempotency-replayed') === 'true' };
  }
  if (status >= 300 && status < 400) return unknown('redirected');
  const code = parseRefusalCode(text) ?? '';
  if (status === 409 && code === 'IDEMPOTENCY_KEY_CONFLICT') return { kind: 'refused', status, isBeforeHandler: true };
  if (REFUSALS.has(status)) {
    const isBeforeHandler = status === RATE_LIMITED || (CHECKED_BEFORE_HANDLERS.has(status) && hasTextCode(text));
    return { kind: 'refused', status, isBeforeHandler };
  }
  return unknown(
    Object.hasOwn(UNKNOWN_REASON_BY_CODE, code) ? (UNKNOWN_REASON_BY_CODE[code] ?? 'server-error') : 'server-error',
  );
};

/** The outcome after a failure below HTTP: unknown, unless no connection was made. */
export const toWriteFailure = (error: unknown): WriteAnswer => {
  if (!(error instanceof HttpClientError)) return unknown('timed-out');
  if (isNeverConnected(error.code)) return { kind: 'refused', status: 0, isBeforeHandler: true };
  return unknown(error.code === 'ANSWER_TOO_LARGE' ? 'unusable-answer' : 'no-answer');
};
