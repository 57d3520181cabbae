import { type AnswerFailure, isBridgeFault, toAnswerFailure } from '../../errors.ts';
import type { AnswerEnd, OutputEvent } from '../../output.ts';
import type { EncodedEvent, StreamEncoder } from '../stream-encoder.ts';
import { createEventEncoder, errorEvent, type GivenEvent, type ResponseEvents } from './events.ts';
import { createOutputItems } from './items.ts';
import { createRepeatableEncoder } from './repeatable.ts';
import { isCompleted, type ResponseStart, type ResponseState, toResponseObject } from './response.ts';

const BUG: AnswerFailure = { status: 500, code: 'internal_error', message: 'The bridge failed while it answered' };

const EVENTS = {
  queued: 'response.queued',
  running: 'response.in_progress',
  cancelled: 'response.failed',
  failed: 'response.failed',
} as const;

const eventFor = (state: ResponseState): string => {
  if (state.kind !== 'ended') return EVENTS[state.kind];
  return isCompleted(state.end) ? 'response.completed' : 'response.incomplete';
};

/** The status of items that are open when the answer ends. */
const statusOfOpenItems = (event: Extract<OutputEvent, { kind: 'end' | 'failure' }>) =>
  event.kind === 'end' && isCompleted(event.end) ? 'completed' : 'incomplete';

/** The failure to report for an error; undefined for a client that has disconnected. */
const toStreamFailure = (error: unknown): AnswerFailure | undefined => {
  if (!isBridgeFault(error)) return BUG;
  return error.detail.kind === 'client-left' ? undefined : toAnswerFailure(error.detail);
};

/** Numbers events as they come. */
const createPlainEncoder = (): ResponseEvents => {
  const { eventOf, eventsOf } = createEventEncoder();
  const encodeGiven = (...given: readonly GivenEvent[]) => given.map(([type, members]) => eventOf(type, members));
  return {
    begin: encodeGiven,
    eventsIn(changes) {
      const [first] = changes;
      // The fast path: nearly every output event is one change.
      return first !== undefined && changes.length === 1 ? eventsOf(first) : changes.flatMap(eventsOf);
    },
    end: encodeGiven,
  };
};

/**
 * Encodes the events of a streamed response. A failure is its last two events: `error` and `response.failed`. A stream in the
 * background that cannot go on ends with `error` alone.
 */
export const createResponseEncoder = ({
  place,
  model,
  echo,
  createdSeconds,
  nowSeconds,
  startingAfter,
}: ResponseStart): StreamEncoder => {
  const repeatable = echo.isBackground ? createRepeatableEncoder(startingAfter) : undefined;
  const { begin, eventsIn, end } = repeatable ?? createPlainEncoder();
  const items = createOutputItems(place);
  const facts = { id: place.responseID, model, createdSeconds, echo };
  const responseEvent = (state: ResponseState, event = eventFor(state)): GivenEvent => [
    event,
    { response: toResponseObject(facts, state) },
  ];
  const stateAfter = (answerEnd: AnswerEnd): ResponseState => {
    const output = items.list();
    return echo.isBackground && answerEnd.isAborted === true
      ? { kind: 'cancelled', output }
      : { kind: 'ended', output, end: answerEnd, endedSeconds: nowSeconds() };
  };
  const last = (event: Extract<OutputEvent, { kind: 'end' | 'failure' }>): readonly EncodedEvent[] => {
    const closing = eventsIn(items.close(statusOfOpenItems(event)));
    if (event.kind === 'end') return [...closing, ...end(responseEvent(stateAfter(event.end)))];
    const { failure } = event;
    const failed = responseEvent({ kind: 'failed', output: items.list(), failure });
    // All clients understand the first of the two; some ignore `response.failed`.
    return [...closing, ...end(errorEvent(failure), failed)];
  };
  return {
    async first() {
      const running: ResponseState = { kind: 'running', output: [] };
      return begin(responseEvent(running, 'response.created'), responseEvent(running));
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
