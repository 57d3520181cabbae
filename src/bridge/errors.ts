import type { CoreFault } from '../core/fault.ts';
import { Fault } from '../core/fault.ts';
import type { ErrorResponses } from '../core/http/handler.ts';
import {
  clientError,
  errorResponse,
  internalErrorResponse,
  NEVER_RETRY,
  retryAfterHeader,
  serverError,
} from '../core/http/response.ts';
import { shownIdentifier } from '../core/identifier.ts';

/** Why the turns of the agent refuse a request. Some come with ids: see `TurnRefusal`. */
export const TURN_REFUSAL_CODES = [
  /** The key came with another request before. */
  'key_reused',
  /** A retry of a turn that was aborted after tools had run: `ids` are their names. */
  'turn_aborted',
  'turn_not_found',
  'turn_running',
  /** A turn waits for a decision, whose id is in `ids`. */
  'turn_waiting',
  'conversation_not_found',
  'conversation_full',
  'conversation_busy',
  'conversation_changed',
  /** Results of some calls lack: `ids`. */
  'missing_results',
  /** A result whose call is nowhere. */
  'unknown_call',
  'no_such_request',
  'not_added',
  'message_not_found',
  /** The port cannot do it at all. */
  'unsupported',
] as const;
export type TurnRefusalCode = (typeof TURN_REFUSAL_CODES)[number];

/** A refusal of the turns: nothing was begun or changed. `ids`: what the code is about. */
type TurnRefusal = { readonly code: TurnRefusalCode; readonly ids: readonly string[] };

/** Every failure that the bridge expects. */
export type BridgeFault =
  | CoreFault
  /** The agent server was not reached, or broke off. `reason` is our own sentence. */
  | { readonly kind: 'backend-error'; readonly reason: string }
  /** The agent server refused, or its turn failed. `isRetryable`: nothing was begun, so asking again repeats nothing. */
  | {
      readonly kind: 'agent-failed';
      readonly status: number;
      readonly code: string;
      readonly message: string;
      readonly isRetryable: boolean;
      /** The member of our request that the agent did not accept, where it says so. */
      readonly path?: string | undefined;
    }
  | ({ readonly kind: 'turn-refused' } & TurnRefusal);

/** Why an answer failed, with OpenAI's error codes. `status` is the HTTP status while nothing of the answer was sent. */
export type AnswerFailure = { readonly status: number; readonly code: string; readonly message: string };

/** Whether something that was thrown is a failure that the bridge expects. */
export const isBridgeFault = (error: unknown): error is Fault<BridgeFault> => error instanceof Fault;

/** A refusal of the turns. */
export const refused = (code: TurnRefusalCode, ids: readonly string[] = []): Fault<BridgeFault> =>
  new Fault({ kind: 'turn-refused', code, ids });

const NAMED_IDS = 5;
const RETRY_AFTER_MS = 1000;

/** The names of calls and tools that may be shown, the first few. */
const namesIn = (ids: readonly string[]): string =>
  ids
    .flatMap((id) => shownIdentifier(id) ?? [])
    .slice(0, NAMED_IDS)
    .join(', ');

/** The error for a retry of a turn that was aborted after it had called tools: what they did is done. */
const abortedText = (tools: readonly string[]): string => {
  const names = namesIn([...new Set(tools)]);
  const called = names === '' ? 'Tools may have run before' : `Tools were called before: ${names}`;
  return `This turn was aborted before its end: its client had left, or a server was stopped. ${called}. What they did is not undone, so the turn is not run again by itself. Ask in the same conversation what was done, or send a new request`;
};

/** The text for results that lack. */
const missingText = (ids: readonly string[]): string =>
  `Results of calls are missing: ${namesIn(ids)}. Send the results of all calls of the last answer`;

type Refusal = readonly [status: number, code: string, message: string | ((ids: readonly string[]) => string)];

/** What a client reads where the turns refuse its request, if the endpoint has nothing better to say. */
const REFUSALS: Readonly<Record<TurnRefusalCode, Refusal>> = {
  key_reused: [
    400,
    'idempotency_key_reused',
    'This Idempotency-Key came with another request before: use a new key for a new request',
  ],
  turn_aborted: [409, 'turn_aborted', abortedText],
  turn_not_found: [404, 'not_found', 'No such response for this API key'],
  conversation_not_found: [404, 'not_found', 'No such conversation for this API key'],
  turn_waiting: [409, 'conflict', 'A turn of this conversation waits for an approval'],
  message_not_found: [404, 'not_found', 'There is no item with this id in this conversation'],
  turn_running: [409, 'conflict', 'The response is still made: cancel it first, or wait for its end'],
  conversation_full: [503, 'overloaded', 'Too many requests wait for this conversation'],
  conversation_busy: [
    409,
    'conflict',
    'A response is made in this conversation, or waits: try again when it has ended',
  ],
  conversation_changed: [409, 'conflict', 'Other requests have changed this conversation at the same time: try again'],
  missing_results: [400, 'missing_tool_result', missingText],
  unknown_call: [400, 'invalid_value', 'A result is given for a call that no message has'],
  no_such_request: [404, 'not_found', 'No such permission request is open'],
  not_added: [400, 'unsupported_value', 'Only an item that was added can be deleted'],
  unsupported: [400, 'unsupported_value', 'The agent server does not support this'],
};

/** A fault as the failure of an answer. Its status, code and text are the same in a response and in a stream. */
export const toAnswerFailure = (detail: BridgeFault): AnswerFailure => {
  switch (detail.kind) {
    case 'agent-failed':
      return { status: detail.status, code: detail.code, message: detail.message };
    case 'backend-error':
      return { status: 502, code: 'agent_unreachable', message: detail.reason };
    case 'backend-timeout':
      return { status: 504, code: 'agent_timeout', message: 'The agent server did not answer in time' };
    case 'unavailable':
      return { status: 503, code: 'unavailable', message: detail.message };
    case 'overloaded':
      return { status: 503, code: 'overloaded', message: 'Too many requests are waiting' };
    case 'bad-input':
      return { status: 400, code: detail.code, message: detail.message };
    case 'not-found':
      return { status: 404, code: 'not_found', message: detail.hint };
    case 'turn-refused': {
      const [status, code, message] = REFUSALS[detail.code];
      return { status, code, message: typeof message === 'string' ? message : message(detail.ids) };
    }
    default:
      return { status: 500, code: 'internal_error', message: 'The bridge failed' };
  }
};

/** The one place where a failure of the bridge becomes an answer, in OpenAI's error shape. */
export const bridgeErrorResponse = (detail: BridgeFault): Response => {
  const { status, code, message } = toAnswerFailure(detail);
  switch (detail.kind) {
    case 'agent-failed':
    case 'backend-error':
    case 'backend-timeout': {
      const answer = status < 500 && status !== 429 ? clientError : serverError;
      const mayRetry = detail.kind !== 'agent-failed' || detail.isRetryable;
      return answer(status, code, message, mayRetry ? {} : NEVER_RETRY);
    }
    case 'turn-refused': {
      if (status === 503) return serverError(status, code, message, retryAfterHeader(RETRY_AFTER_MS));
      // A retry with the same key would be refused again.
      const headers = detail.code === 'turn_aborted' ? NEVER_RETRY : {};
      return clientError(status, code, message, headers, detail.code === 'key_reused' ? 'Idempotency-Key' : null);
    }
    default:
      return errorResponse(detail);
  }
};

/** How the bridge answers failures: in OpenAI's shape. */
export const BRIDGE_ERROR_RESPONSES = {
  forFault: bridgeErrorResponse,
  forBug: internalErrorResponse,
} satisfies ErrorResponses;
