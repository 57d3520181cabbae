import type { Clock } from '../../../core/clock.ts';
import type { ClientAnswer } from '../../answer/client-answer.ts';
import { type AnswerFailure, isBridgeFault, toAnswerFailure } from '../../errors.ts';
import { customNamesIn } from '../client-tools.ts';
import type { EncodedEvent, Endpoint, StreamEncoder } from '../endpoint.ts';
import { encodeChange, encodeEvents, errorEvent, type GivenEvent, type ResponseEvents } from './events.ts';
import { createOutputItems } from './items.ts';
import { createRepeatableEncoder } from './repeatable.ts';
import { type ParsedResponsesRequest, parseResponsesRequest } from './request.ts';
import {
  createResponse,
  isCompleted,
  type LastEvent,
  openItemsAfter,
  type ResponseStart,
  type ResponseState,
  stateAfter,
  toResponseObject,
} from './response.ts';

const BUG: AnswerFailure = { status: 500, code: 'internal_error', message: 'The bridge failed while it answered' };

const lastEventName = (state: ResponseState): string => {
  if (!('end' in state)) return 'response.failed';
  return isCompleted(state.end) ? 'response.completed' : 'response.incomplete';
};

/** The failure to report for an error; undefined for a client that has disconnected. */
const toStreamFailure = (error: unknown): AnswerFailure | undefined => {
  if (!isBridgeFault(error)) return BUG;
  return error.detail.kind === 'client-left' ? undefined : toAnswerFailure(error.detail);
};

/** Numbers events as they come. */
const createPlainEncoder = (): ResponseEvents => {
  let next = 0;
  const counted = (encoded: readonly EncodedEvent[]): readonly EncodedEvent[] => {
    next += encoded.length;
    return encoded;
  };
  const encodeGiven = (...given: readonly GivenEvent[]) => counted(encodeEvents(given, next));
  return {
    begin: encodeGiven,
    eventsIn: (changes) => changes.flatMap((change) => counted(encodeChange(change, next))),
    end: encodeGiven,
  };
};

/**
 * Encodes the events of a streamed response. A failure is its last two events: `error` and `response.failed`. A stream in the
 * background that cannot go on ends with `error` alone.
 */
export const createResponseEncoder = (start: ResponseStart): StreamEncoder => {
  const { place, echo, nowSeconds, startingAfter } = start;
  const repeatable = echo.background ? createRepeatableEncoder(startingAfter) : undefined;
  const { begin, eventsIn, end } = repeatable ?? createPlainEncoder();
  const items = createOutputItems(place);
  const last = (event: LastEvent): readonly EncodedEvent[] => {
    const closing = eventsIn(items.close(openItemsAfter(event)));
    const state = stateAfter(event, nowSeconds(), echo.background);
    const response: GivenEvent = [lastEventName(state), { response: toResponseObject(start, items.list(), state) }];
    // All clients understand an `error`; some ignore `response.failed`.
    return [...closing, ...(event.kind === 'failure' ? end(errorEvent(event.failure), response) : end(response))];
  };
  return {
    async first() {
      const members = { response: toResponseObject(start, [], { status: 'in_progress' }) };
      return begin(['response.created', members], ['response.in_progress', members]);
    },
    eventsFor: (event) =>
      event.kind === 'end' || event.kind === 'failure' ? last(event) : eventsIn(items.applyEvent(event)),
    async errorEvents(error) {
      const failure = toStreamFailure(error);
      if (failure === undefined) return [];
      return repeatable?.interrupted(failure) ?? last({ kind: 'failure', failure });
    },
    // Every event of a response has a meaning, so there is none without content.
    empty: () => undefined,
  };
};

/** `POST /v1/responses`. */
export const createResponsesEndpoint = ({ clock }: { readonly clock: Clock }): Endpoint<ParsedResponsesRequest> => {
  const startOf = (
    { model, echo, clientTools }: ParsedResponsesRequest,
    { responseID, sessionID, ...answer }: ClientAnswer,
  ): ResponseStart => ({
    place: { responseID, sessionID, custom: customNamesIn(clientTools) },
    model: model ?? answer.model,
    echo,
    createdSeconds: answer.createdSeconds,
    nowSeconds: () => Math.floor(clock.now() / 1000),
  });
  return {
    name: 'responses',
    effortMember: 'reasoning.effort',
    parse: parseResponsesRequest,
    async toBody(output, request, answer) {
      // A text of the bridge is complete at once, and cannot be looked at later.
      const isRunning = request.echo.background && answer.sessionID !== undefined;
      const start = startOf(request, answer);
      return isRunning ? toResponseObject(start, [], { status: 'in_progress' }) : createResponse(output, start);
    },
    createEncoder: (request, answer) => createResponseEncoder(startOf(request, answer)),
  };
};
