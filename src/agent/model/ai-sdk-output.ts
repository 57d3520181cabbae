import { isRecord } from '../../core/json.ts';
import type { Finish, MessageTokens } from '../protocol/types.ts';
import { createProviderError } from './provider-errors.ts';
import { ModelError } from './types.ts';

type Count = number | undefined;

/** The fields of an adapter's usage that are read. `raw` is the backend's own. */
type AiUsage = {
  readonly inputTokens: { readonly total: Count; readonly cacheRead: Count; readonly cacheWrite: Count };
  readonly outputTokens: { readonly total: Count; readonly reasoning: Count };
  readonly raw?: Readonly<Record<string, unknown>> | undefined;
};

/** A backend's number may be anything that JSON allows. Sums of these are stored, and an endless one would be a null there. */
const counted = (value: unknown): number =>
  typeof value === 'number' && Number.isFinite(value)
    ? Math.min(Math.max(0, Math.round(value)), Number.MAX_SAFE_INTEGER)
    : 0;

/**
 * Tokens as the wire counts them: `input` without what came from or went to a cache, `output` without the reasoning,
 * `total` as the backend gives it, or else the sum of what it took and gave.
 */
export const toTokens = ({ inputTokens, outputTokens, raw }: AiUsage): MessageTokens => {
  const read = counted(inputTokens.cacheRead);
  const write = counted(inputTokens.cacheWrite);
  const reasoning = counted(outputTokens.reasoning);
  const [input, output] = [counted(inputTokens.total), counted(outputTokens.total)];
  const given = counted(raw?.total_tokens);
  return {
    input: Math.max(0, input - read - write),
    output: Math.max(0, output - reasoning),
    reasoning,
    cache: { read, write },
    total: given === 0 ? input + output : given,
  };
};

const FINISHES: Readonly<Record<string, Finish>> = {
  stop: 'stop',
  length: 'length',
  'tool-calls': 'tool-calls',
  'content-filter': 'content-filter',
  other: 'other',
};

/** Why the model stopped; undefined when its answer was cut off before it gave a reason. `raw` is the backend's own reason. */
export const toFinish = (reason: string, raw: string | undefined, hasCalls: boolean): Finish | undefined => {
  // Some backends end with "stop" what ends with calls, and a loop that believed them would never make the calls.
  if (reason === 'stop' && hasCalls) return 'tool-calls';
  const isCutOff = reason === 'interrupted' || ((reason === 'other' || reason === 'error') && raw === undefined);
  return isCutOff ? undefined : (FINISHES[reason] ?? 'unknown');
};

/** The provider of a failed call, and the texts that an error must not show. */
type ErrorContext = { readonly providerID: string; readonly secrets: readonly string[] };

const DEEPEST_CAUSE = 8;
const SDK_NAME = /^AI_(\w{1,48})$/;
/** How the types of events begin that belong to an answer. Backends also send others, such as keep-alives. */
const PART_OF_AN_ANSWER = /^(?:content_block|message|response|error)/;

const causesOf = (error: unknown): readonly unknown[] => {
  const causes: unknown[] = [];
  for (let cause = error; cause !== undefined && causes.length < DEEPEST_CAUSE; ) {
    causes.push(cause);
    cause = isRecord(cause) ? cause.cause : undefined;
  }
  return causes;
};

const parsed = (text: unknown): unknown => {
  try {
    return typeof text === 'string' ? JSON.parse(text) : undefined;
  } catch {
    return text;
  }
};

const statusOf = ({ statusCode, code }: Readonly<Record<string, unknown>>): number | undefined => {
  const status = Number(statusCode ?? code);
  return status >= 400 && status < 600 ? status : undefined;
};

/** What an event of the stream says that the SDK could not read, or nothing for another kind of error. */
const unreadIn = (error: unknown): Readonly<Record<string, unknown>> | undefined =>
  isRecord(error) && error.name === 'AI_TypeValidationError' && isRecord(error.value) ? error.value : undefined;

/** Whether an error of the SDK is about an event that is no part of the answer, and that the answer does not miss. */
export const isIgnorableEvent = (error: unknown): boolean => {
  const event = unreadIn(error);
  if (event === undefined || 'choices' in event || 'error' in event) return false;
  return typeof event.type !== 'string' || !PART_OF_AN_ANSWER.test(event.type);
};

/** The error that a backend sent in its stream, in one of the forms in which the SDK passes it on. */
const findProviderError = (error: unknown, { providerID, secrets }: ErrorContext): ModelError | undefined => {
  const unread = unreadIn(error);
  if (unread !== undefined && 'error' in unread) {
    return createProviderError({ providerID, statusCode: undefined, body: unread, secrets });
  }
  if (!isRecord(error)) return undefined;
  const { name, code, type, message } = error;
  const isProviderError = name === 'AI_APICallError' || !(error instanceof Error);
  if (!isProviderError || (typeof message !== 'string' && typeof error.error !== 'string')) return undefined;
  const body = parsed(error.responseBody) ?? { code, type, message, error: error.error };
  return createProviderError({ providerID, statusCode: statusOf(error), body, secrets });
};

const toSdkError = (error: unknown, who: string): ModelError => {
  const name = isRecord(error) && typeof error.name === 'string' ? SDK_NAME.exec(error.name)?.[1] : undefined;
  switch (name) {
    case 'InvalidResponseDataError':
      return new ModelError('cut-off', `${who} broke off before the end of its answer`, { isRetryable: true });
    case 'JSONParseError':
    case 'TypeValidationError':
      return new ModelError('api', `${who} sent something that is no part of an answer`, { isRetryable: true });
    case 'UnsupportedFunctionalityError':
      return new ModelError('api', `${who} cannot be sent a part of this conversation, such as a file of its type`);
    case 'InvalidArgumentError':
      return new ModelError('api', `${who} cannot be asked: an option of the model has a value that is not allowed`);
    default:
      return new ModelError('api', `${who} could not be asked${name === undefined ? '' : ` (${name})`}`);
  }
};

/** Converts an error of a model call. Of the original only a status and a code appear in the message. */
export const toModelError = (error: unknown, context: ErrorContext): ModelError => {
  const causes = causesOf(error);
  const known = causes.find((cause) => cause instanceof ModelError);
  if (known instanceof ModelError) return known;
  for (const cause of causes) {
    const providerError = findProviderError(cause, context);
    if (providerError !== undefined) return providerError;
  }
  return toSdkError(error, `The provider "${context.providerID}"`);
};
