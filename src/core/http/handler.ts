import type { Clock } from '../clock.ts';
import { type CoreFault, Fault } from '../fault.ts';
import type { Log } from '../log.ts';
import type { RequestBodies } from './request-bodies.ts';
import { errorResponse, internalErrorResponse } from './response.ts';
import type { RequestSpans } from './tracing.ts';

/** A service, whole: it knows no runtime, and adapters bring it to Node, Deno, Bun and Workers. */
export type Handler = (request: Request) => Promise<Response>;

/** What is known about a request once it has been answered; `route` is a path of ours or `other`, never a caller's text. */
export type AnsweredRequest = {
  /** A method of HTTP, or `other`. */
  readonly method: string;
  readonly route: string;
  readonly status: number;
  readonly durationMs: number;
};

type HandlerNeeds = {
  readonly clock: Clock;
  readonly log: Log;
  /** Makes the id of a request that brings none; `req-` is put before it. */
  readonly newId: () => string;
  readonly routeOf: (request: Request) => string;
  readonly onAnswered?: (answered: AnsweredRequest) => void;
  /** What accounts for the bodies of the service's requests. */
  readonly bodies?: Pick<RequestBodies, 'release'>;
  /** The spans of the service's requests. */
  readonly spans?: Pick<RequestSpans, 'begin' | 'end'>;
  /** How the service answers failures; in OpenAI's shape by default. */
  readonly errors?: ErrorResponses;
};

/** A failure that has an answer of its own in place of its error. The log line names the failure all the same. */
export class AnsweredFailure extends Error {
  readonly answer: Response;

  constructor(failure: unknown, answer: Response) {
    super('A failure with an answer', { cause: failure });
    this.answer = answer;
  }
}

/** The answers to failures that were expected, of whatever kinds the service has, and to those that were not. */
export type ErrorResponses = { readonly forFault: (detail: CoreFault) => Response; readonly forBug: () => Response };

const OPENAI_ERRORS: ErrorResponses = { forFault: errorResponse, forBug: internalErrorResponse };

/** Some runtimes let any word through as a method, and a caller's words belong in no log. */
const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'CONNECT', 'TRACE']);

/** Anything longer or odder could forge log lines or headers. */
const SANE_REQUEST_ID = /^[\w.:-]{1,128}$/;

/** The answer to a failure, and what its log line says of it. */
type Failure = { readonly reply: Response; readonly named: { readonly fault: string; readonly reason?: string } };

const failureOf = (error: unknown, errors: ErrorResponses): Failure => {
  if (error instanceof AnsweredFailure) return { ...failureOf(error.cause, errors), reply: error.answer };
  if (!(error instanceof Fault)) {
    return { reply: errors.forBug(), named: { fault: 'bug', reason: whereabouts(error) } };
  }
  const { detail } = error;
  const given = 'reason' in detail ? detail.reason : 'code' in detail ? detail.code : undefined;
  const reason = typeof given === 'string' ? { reason: given } : {};
  return { reply: errors.forFault(detail), named: { fault: detail.kind, ...reason } };
};

/** Where a bug was thrown. Its message, which opens the stack, is left out: it may quote a user or a backend. */
const placeOf = (error: unknown): string => {
  const { message, stack = '' } = error instanceof Error ? error : { message: '' };
  const start = stack.indexOf(message);
  const frames = start === -1 ? '' : stack.slice(start + message.length);
  return /\n\s+at (.+)/.exec(frames)?.[1] ?? 'an unknown place';
};

const whereabouts = (bug: unknown): string => `${bug instanceof Error ? bug.name : typeof bug} at ${placeOf(bug)}`;

const isClientError = (status: number): boolean => status >= 400 && status < 500;

/** A redirect or a fetched answer has headers that cannot be changed, so those are answered with a copy. */
const withRequestId = (response: Response, requestId: string): Response => {
  try {
    response.headers.set('x-request-id', requestId);
    return response;
  } catch {
    // Spread, because what is no response at all must fail here and not become an empty one.
    const headers = new Headers([...response.headers]);
    headers.set('x-request-id', requestId);
    return new Response(response.body, { status: response.status, headers });
  }
};

/**
 * The outermost layer of every service: turns whatever is thrown into an answer, gives each answer its `x-request-id`
 * and writes one line about it. It never rejects.
 */
export const createHandler =
  (
    handler: Handler,
    { clock, log, newId, routeOf, onAnswered, bodies, spans, errors = OPENAI_ERRORS }: HandlerNeeds,
  ): Handler =>
  async (request) => {
    const startedAt = clock.now();
    const offeredId = request.headers.get('x-request-id');
    const requestId = offeredId !== null && SANE_REQUEST_ID.test(offeredId) ? offeredId : `req-${newId()}`;
    const method = METHODS.has(request.method) ? request.method : 'other';
    const route = routeOf(request);
    spans?.begin(request, { method, route });
    let failure: Failure | undefined;
    let response: Response;
    try {
      response = withRequestId(await handler(request), requestId);
    } catch (error) {
      failure = failureOf(error, errors);
      response = withRequestId(failure.reply, requestId);
    }
    bodies?.release(request);
    const answered: AnsweredRequest = {
      method,
      route,
      status: response.status,
      durationMs: clock.now() - startedAt,
    };
    const fault = failure?.named.fault;
    spans?.end(request, { status: response.status, fault });
    const level = fault === 'bug' ? 'error' : fault === undefined || isClientError(response.status) ? 'info' : 'warn';
    log(level, 'request-answered', { requestId, ...answered, ...failure?.named });
    try {
      onAnswered?.(answered);
    } catch (error) {
      log('error', 'answer-not-counted', { requestId, reason: whereabouts(error) });
    }
    return response;
  };
