import { isRecord } from '../../core/json.ts';
import { ModelError, type ModelErrorKind } from './types.ts';

/** An error that a backend sent, as the status of its answer or within a stream. */
type ProviderFailure = {
  readonly providerID: string;
  /** Undefined for an error within a stream. */
  readonly statusCode: number | undefined;
  /** Parsed JSON, or the text where it is none. It is only classified, never repeated. */
  readonly body: unknown;
  readonly retryAfterMs?: number | undefined;
  /** Whether the backend itself allows a retry. */
  readonly mayRetry?: boolean | undefined;
  /** Keys and header values: a code that holds one of them is not shown. */
  readonly secrets: readonly string[];
};

const TEXT_LIMIT_CHARS = 4096;
/** Shorter header values are no secrets and would occur in any text. */
const MIN_SECRET_CHARS = 6;
const SHOWABLE_CODE = /^[a-z0-9_]{1,64}$/;
const OVERFLOW_CODES = new Set([
  'context_length_exceeded',
  'exceed_context_size_error',
  'request_too_large',
  'model_max_prompt_tokens_exceeded',
]);
const OVERFLOW_TEXT =
  /context[ _-]?(?:length|window|size)|maximum context|prompt is too long|(?:input|prompt)[^.]{0,40} too long|too many (?:input |prompt )?tokens|(?:exceeds?|over|than) [^.]{0,60}(?:maximum|max|limit)[^.]{0,40}tokens|input token count|reduce the length/i;
const FILTER_CODES = new Set(['content_filter', 'content_policy_violation', 'responsible_ai_policy_violation']);
const AUTH_CODES = new Set(['invalid_api_key', 'authentication_error', 'permission_error', 'account_deactivated']);
/** A retry does not help with these. */
const FINAL_CODES = new Set(['insufficient_quota', 'billing_error', 'invalid_request_error', 'model_not_found']);
const RETRYABLE_STATUSES = new Set([408, 409, 425, 429]);

type ErrorBodyTexts = { readonly codes: readonly string[]; readonly text: string };

/** The codes and the message texts of an error body. Every provider has its own form; all of them are flat. */
const readErrorBody = (body: unknown): ErrorBodyTexts => {
  if (typeof body === 'string') return { codes: [], text: body.slice(0, TEXT_LIMIT_CHARS) };
  if (!isRecord(body)) return { codes: [], text: '' };
  const inner = isRecord(body.error) ? body.error : {};
  const deepest = isRecord(inner.innererror) ? inner.innererror : {};
  const texts = (...values: readonly unknown[]): string[] => values.filter((value) => typeof value === 'string');
  return {
    codes: texts(deepest.code, inner.code, inner.type, body.code, body.type),
    text: texts(inner.message, body.message, body.detail, body.error).join(' ').slice(0, TEXT_LIMIT_CHARS),
  };
};

const errorKindFor = (statusCode: number | undefined, { codes, text }: ErrorBodyTexts): ModelErrorKind => {
  const hasOneOf = (known: ReadonlySet<string>): boolean => codes.some((code) => known.has(code.toLowerCase()));
  if (statusCode === 401 || statusCode === 403) return 'auth';
  // A limit per minute counts tokens too, and is over in a minute.
  if (statusCode === 429) return 'api';
  if (statusCode === 413 || hasOneOf(OVERFLOW_CODES)) return 'overflow';
  if (hasOneOf(FILTER_CODES)) return 'content-filter';
  if (hasOneOf(AUTH_CODES)) return 'auth';
  return OVERFLOW_TEXT.test(text) ? 'overflow' : 'api';
};

const isTemporary = (statusCode: number | undefined, codes: readonly string[]): boolean => {
  if (codes.some((code) => FINAL_CODES.has(code))) return false;
  return statusCode === undefined || RETRYABLE_STATUSES.has(statusCode) || statusCode >= 500;
};

const errorTextFor = (kind: ModelErrorKind, providerID: string, statusCode: number | undefined): string => {
  const who = `The provider "${providerID}"`;
  if (kind === 'auth') return `${who} refused the API key`;
  if (kind === 'overflow') return `The conversation is longer than the model of "${providerID}" takes`;
  if (kind === 'content-filter') return `${who} refused the content`;
  if (statusCode === undefined) return `${who} broke its answer off with an error`;
  if (statusCode < 400) return `${who} did not answer at this address: the baseURL leads elsewhere`;
  if (statusCode === 404) return `${who} does not know the model or the address`;
  return `${who} did not answer`;
};

const isSecret = (text: string, secrets: readonly string[]): boolean =>
  secrets.some((secret) => secret.includes(text) || (secret.length >= MIN_SECRET_CHARS && text.includes(secret)));

/** A backend's error with a message of our own. Of the original it shows only the status and a code that looks like a name. */
export const createProviderError = (failure: ProviderFailure): ModelError => {
  const { providerID, statusCode, body, retryAfterMs, mayRetry, secrets } = failure;
  const texts = readErrorBody(body);
  const kind = errorKindFor(statusCode, texts);
  const code = texts.codes.find((text) => SHOWABLE_CODE.test(text) && !isSecret(text, secrets));
  const details = [statusCode === undefined ? [] : [`status ${statusCode}`], code === undefined ? [] : [code]].flat();
  const message = `${errorTextFor(kind, providerID, statusCode)}${details.length === 0 ? '' : ` (${details.join(', ')})`}`;
  const isRetryable = kind === 'api' && (mayRetry ?? isTemporary(statusCode, texts.codes));
  return new ModelError(kind, message, {
    ...(statusCode === undefined ? {} : { statusCode }),
    isRetryable,
    ...(isRetryable && retryAfterMs !== undefined ? { retryAfterMs } : {}),
  });
};
