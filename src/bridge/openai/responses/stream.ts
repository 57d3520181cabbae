import { Fault } from '../../../core/fault.ts';
import { unended } from '../../answer-fault.ts';
import { createResponseEvents, type ResponseEvent } from '../../responses-events.ts';
import type { ResponseStart } from '../../responses-out.ts';
import { failureOf } from '../../start-failure.ts';
import type { Failure, Saying } from '../../turn/output.ts';
import { type Change, createOutput } from './items.ts';
import { type ResponseState, responseObject } from './response.ts';

const BUG: Failure = { status: 500, code: 'internal_error', message: 'The bridge failed while it answered' };

const EVENTS = { going: 'response.in_progress', failed: 'response.failed' } as const;

const eventFor = (state: ResponseState): string => {
  if (state.kind !== 'ended') return EVENTS[state.kind];
  return state.end.finish === 'stop' ? 'response.completed' : 'response.incomplete';
};

/** How the last saying leaves the items that are still open. */
const statusAfter = (saying: Extract<Saying, { kind: 'end' | 'failure' }>) =>
  saying.kind === 'end' && saying.end.finish === 'stop' ? 'completed' : 'incomplete';

/** What was thrown as a failure; nothing for a client that left, who can be told nothing. */
const failureFrom = (error: unknown): Failure | undefined => {
  if (!(error instanceof Fault)) return BUG;
  return error.detail.kind === 'client-left' ? undefined : failureOf(error.detail);
};

type EventOf = ReturnType<typeof createResponseEvents>['eventOf'];

const errorEventOf = (eventOf: EventOf, { code, message }: Failure): ResponseEvent =>
  eventOf('error', { code, message, param: null });

type Known = { readonly id: string; readonly createdSeconds: number };

/** Tells a response whose id is known. */
const createTeller = ({ id, createdSeconds }: Known, { model, echo, nowSeconds }: ResponseStart) => {
  const { eventOf, eventsOf } = createResponseEvents();
  const { take, close, items } = createOutput(id);
  const facts = { id, model, createdSeconds, echo };
  const told = (state: ResponseState, event = eventFor(state)): ResponseEvent =>
    eventOf(event, { response: responseObject(facts, state) });

  const eventsIn = (changes: readonly Change[]): readonly ResponseEvent[] => {
    const [first] = changes;
    // Nearly always there is one, and there may be very many of them.
    return first !== undefined && changes.length === 1 ? eventsOf(first) : changes.flatMap(eventsOf);
  };
  const last = (saying: Extract<Saying, { kind: 'end' | 'failure' }>): readonly ResponseEvent[] => {
    const closing = eventsIn(close(statusAfter(saying)));
    const output = items();
    if (saying.kind === 'end')
      return [...closing, told({ kind: 'ended', output, end: saying.end, endedSeconds: nowSeconds() })];
    // The first of the two is the one that all clients hear; some take no notice of a response that says it failed.
    const error = errorEventOf(eventOf, saying.failure);
    return [...closing, error, told({ kind: 'failed', output, failure: saying.failure })];
  };
  return {
    first(): readonly ResponseEvent[] {
      const going: ResponseState = { kind: 'going', output: [] };
      return [told(going, 'response.created'), told(going)];
    },
    eventsFor: (saying: Saying): readonly ResponseEvent[] =>
      saying.kind === 'end' || saying.kind === 'failure' ? last(saying) : eventsIn(take(saying)),
  };
};

type Teller = { readonly eventsFor: (saying: Saying) => readonly ResponseEvent[] };

/** Tells of an answer that never began, so that there is no response: no more than what went wrong. */
const createFailureTeller = (): Teller => {
  const { eventOf } = createResponseEvents();
  return {
    eventsFor: (saying) => (saying.kind === 'failure' ? [errorEventOf(eventOf, saying.failure)] : []),
  };
};

/**
 * The events of a streamed response. Of a failure the last two tell: `error`, and `response.failed` unless nothing had begun.
 * What is no fault is thrown after them.
 */
export async function* responseEvents(
  sayings: AsyncIterable<Saying>,
  start: ResponseStart,
): AsyncGenerator<ResponseEvent> {
  const createdSeconds = start.nowSeconds();
  // Why there is none is said by the sayings.
  const id = await start.responseID().catch(() => undefined);
  const response = id === undefined ? undefined : createTeller({ id, createdSeconds }, start);
  const { eventsFor } = response ?? createFailureTeller();
  for (const event of response?.first() ?? []) yield event;
  try {
    for await (const saying of sayings) {
      for (const event of eventsFor(saying)) yield event;
      if (saying.kind === 'end' || saying.kind === 'failure') return;
    }
    throw unended();
  } catch (error) {
    const failure = failureFrom(error);
    if (failure !== undefined) for (const event of eventsFor({ kind: 'failure', failure })) yield event;
    if (!(error instanceof Fault)) throw error;
  }
}
