import { isRecord } from '../../core/record.ts';
import { problemFor } from './provider-errors.ts';
import { ModelProblem } from './types.ts';

/** Whose answer it was, and what must not show. */
export type Blame = { readonly providerID: string; readonly secrets: readonly string[] };

const DEEPEST_CAUSE = 8;
const SDK_NAME = /^AI_(\w{1,48})$/;
/** What else a backend may send along: keep-alives and the like. These words begin what belongs to the answer. */
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
export const isBesideTheAnswer = (error: unknown): boolean => {
  const event = unreadIn(error);
  if (event === undefined || 'choices' in event || 'error' in event) return false;
  return typeof event.type !== 'string' || !PART_OF_AN_ANSWER.test(event.type);
};

/** An error that a backend has told in its stream, in one of the forms in which the SDK hands it on. */
const complaintIn = (error: unknown, { providerID, secrets }: Blame): ModelProblem | undefined => {
  const unread = unreadIn(error);
  if (unread !== undefined && 'error' in unread) {
    return problemFor({ providerID, statusCode: undefined, body: unread, secrets });
  }
  if (!isRecord(error)) return undefined;
  const { name, code, type, message } = error;
  const isComplaint = name === 'AI_StreamProviderError' || name === 'AI_APICallError' || !(error instanceof Error);
  if (!isComplaint || (typeof message !== 'string' && typeof error.error !== 'string')) return undefined;
  const body = parsed(error.responseBody) ?? { code, type, message, error: error.error };
  return problemFor({ providerID, statusCode: statusOf(error), body, secrets });
};

const sdkProblem = (error: unknown, who: string): ModelProblem => {
  const name = isRecord(error) && typeof error.name === 'string' ? SDK_NAME.exec(error.name)?.[1] : undefined;
  switch (name) {
    case 'InvalidResponseDataError':
    case 'NoOutputGeneratedError':
      return new ModelProblem('cut-off', `${who} broke off before the end of its answer`, { isRetryable: true });
    case 'JSONParseError':
    case 'TypeValidationError':
      return new ModelProblem('api', `${who} sent something that is no part of an answer`, { isRetryable: true });
    case 'ToolChoiceViolationError':
      return new ModelProblem('api', `${who} asked for a call where none may be made`);
    case 'UnsupportedFunctionalityError':
      return new ModelProblem('api', `${who} cannot be sent a part of this conversation, such as a file of its type`);
    case 'InvalidArgumentError':
      return new ModelProblem('api', `${who} cannot be asked: an option of the model has a value that is not allowed`);
    default:
      return new ModelProblem('api', `${who} could not be asked${name === undefined ? '' : ` (${name})`}`);
  }
};

/** What was thrown while a model was asked, in our own words: nothing of it is repeated but a status and a code. */
export const modelProblemOf = (error: unknown, blame: Blame): ModelProblem => {
  const causes = causesOf(error);
  const known = causes.find((cause) => cause instanceof ModelProblem);
  if (known instanceof ModelProblem) return known;
  for (const cause of causes) {
    const complaint = complaintIn(cause, blame);
    if (complaint !== undefined) return complaint;
  }
  return sdkProblem(error, `The provider "${blame.providerID}"`);
};
