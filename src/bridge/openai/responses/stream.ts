import { type AnswerFailure, isBridgeFault, toAnswerFailure } from '../../errors.ts';
import type { OutputEvent } from '../../output.ts';
import type { EncodedEvent, StreamEncoder } from '../stream-encoder.ts';
import { createEventEncoder, errorEvent, type GivenEvent, type ResponseEvents } from './events.ts';
import { createOutputItems, placeOfResponse } from './items.ts';
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
export const toStreamFailure = (error: unknown): AnswerFailure | undefined => {
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

/** Writes the events of a response whose id is known. */
const createResponseWriter = (
  id: string,
  { model, echo, createdSeconds, nowSeconds, startingAfter }: ResponseStart,
) => {
  const repeatable = echo.isBackground ? createRepeatableEncoder(startingAfter) : undefined;
  const { begin, eventsIn, end } = repeatable ?? createPlainEncoder();
  const items = createOutputItems(placeOfResponse(id));
  const facts = { id, model, createdSeconds, echo };
  const responseEvent = (state: ResponseState, event = eventFor(state)): GivenEvent => [
    event,
    { response: toResponseObject(facts, state) },
  ];

  const last = (event: Extract<OutputEvent, { kind: 'end' | 'failure' }>): readonly EncodedEvent[] => {
    const closing = eventsIn(items.close(statusOfOpenItems(event)));
    const output = items.list();
    if (event.kind === 'end')
      return [...closing, ...end(responseEvent({ kind: 'ended', output, end: event.end, endedSeconds: nowSeconds() }))];
    const failed = responseEvent({ kind: 'failed', output, failure: event.failure });
    // All clients understand the first of the two; some ignore `response.failed`.
    return [...closing, ...end(errorEvent(event.failure), failed)];
  };
  return {
    first(): readonly EncodedEvent[] {
      const running: ResponseState = { kind: 'running', output: [] };
      return begin(responseEvent(running, 'response.created'), responseEvent(running));
    },
    eventsFor: (event: OutputEvent): readonly EncodedEvent[] =>
      event.kind === 'end' || event.kind === 'failure' ? last(event) : eventsIn(items.applyEvent(event)),
    /** Its stream cannot go on. In the background the response does. */
    interrupted: (failure: AnswerFailure): readonly EncodedEvent[] =>
      repeatable?.interrupted(failure) ?? last({ kind: 'failure', failure }),
  };
};

type EventWriter = {
  readonly eventsFor: (event: OutputEvent) => readonly EncodedEvent[];
  readonly interrupted: (failure: AnswerFailure) => readonly EncodedEvent[];
};

/** Writes only the error of an answer that never started, as there is no response. */
const createFailureWriter = (): EventWriter => {
  const { end } = createPlainEncoder();
  const interrupted = (failure: AnswerFailure) => end(errorEvent(failure));
  return {
    eventsFor: (event) => (event.kind === 'failure' ? interrupted(event.failure) : []),
    interrupted,
  };
};

/**
 * Encodes the events of a streamed response. A failure is its last two events: `error`, and `response.failed` if the response
 * had started. A stream in the background that cannot go on ends with `error` alone.
 */
export const createResponseEncoder = (start: ResponseStart): StreamEncoder => {
  let writer: EventWriter = createFailureWriter();
  return {
    async first() {
      // If there is none, the output has the failure.
      const id = await start.responseID().catch(() => undefined);
      if (id === undefined) return [];
      const response = createResponseWriter(id, start);
      writer = response;
      return response.first();
    },
    eventsFor: (event) => writer.eventsFor(event),
    async errorEvents(error) {
      const failure = toStreamFailure(error);
      return failure === undefined ? [] : writer.interrupted(failure);
    },
    // Every event of a response has a meaning, so there is none without content.
    empty: () => undefined,
  };
};
