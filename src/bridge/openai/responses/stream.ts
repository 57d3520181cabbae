import { Fault } from '../../../core/fault.ts';
import { isBridgeFault } from '../../errors.ts';
import type { AnswerFailure, OutputEvent } from '../../output.ts';
import { missingEndError, toAnswerFailure } from '../../turn/failure.ts';
import {
  createOutputItems,
  type ItemChange,
  type OutputCallItem,
  type OutputItem,
  outputText,
  summaryText,
} from './items.ts';
import { type ResponseStart, type ResponseState, responseObject } from './response.ts';

/** An event of a streamed response; `data` is its JSON, which says the event's name once more. */
export type ResponseEvent = { readonly event: string; readonly data: string };

const DELTAS = { message: 'response.output_text.delta', reasoning: 'response.reasoning_summary_text.delta' } as const;

const textIn = (item: OutputItem): string => {
  if (item.type === 'message') return item.content[0]?.text ?? '';
  return item.type === 'reasoning' ? (item.summary[0]?.text ?? '') : '';
};

/** The events of a response. They are numbered as they are made, so each is to be sent, in this order. */
export const createResponseEvents = () => {
  let sequence = 0;
  /** What the deltas of an item begin with, by its index: the same for all of them. */
  const openings = new Map<number, { readonly event: string; readonly start: string }>();

  const eventOf = (type: string, members: object): ResponseEvent => {
    const data = JSON.stringify({ type, sequence_number: sequence, ...members });
    sequence += 1;
    return { event: type, data };
  };
  const keepOpening = (index: number, item: OutputItem): void => {
    if (item.type === 'mcp_call') return;
    const event = DELTAS[item.type];
    const place = item.type === 'message' ? { content_index: 0, logprobs: [] } : { summary_index: 0 };
    const members = JSON.stringify({ type: event, item_id: item.id, output_index: index, ...place });
    openings.set(index, { event, start: `${members.slice(0, -1)},"delta":` });
  };
  const grown = (index: number, text: string): ResponseEvent => {
    const { event, start } = openings.get(index) ?? { event: '', start: '' };
    const data = `${start}${JSON.stringify(text)},"sequence_number":${sequence}}`;
    sequence += 1;
    return { event, data };
  };
  const callBegun = (output_index: number, item: OutputCallItem): readonly ResponseEvent[] => {
    const at = { item_id: item.id, output_index };
    return [
      // Clients put the arguments together from what follows.
      eventOf('response.output_item.added', { output_index, item: { ...item, arguments: '' } }),
      eventOf('response.mcp_call.in_progress', at),
      eventOf('response.mcp_call_arguments.delta', { ...at, delta: item.arguments }),
      eventOf('response.mcp_call_arguments.done', { ...at, arguments: item.arguments }),
    ];
  };
  const begun = (output_index: number, item: OutputItem): readonly ResponseEvent[] => {
    if (item.type === 'mcp_call') return callBegun(output_index, item);
    keepOpening(output_index, item);
    const at = { item_id: item.id, output_index };
    return [
      eventOf('response.output_item.added', { output_index, item }),
      item.type === 'message'
        ? eventOf('response.content_part.added', { ...at, content_index: 0, part: outputText('') })
        : eventOf('response.reasoning_summary_part.added', { ...at, summary_index: 0, part: summaryText('') }),
    ];
  };
  const endOf = (output_index: number, item: OutputItem): readonly ResponseEvent[] => {
    const at = { item_id: item.id, output_index };
    const text = textIn(item);
    switch (item.type) {
      case 'message':
        return [
          eventOf('response.output_text.done', { ...at, content_index: 0, text, logprobs: [] }),
          eventOf('response.content_part.done', { ...at, content_index: 0, part: outputText(text) }),
        ];
      case 'reasoning':
        return [
          eventOf('response.reasoning_summary_text.done', { ...at, summary_index: 0, text }),
          eventOf('response.reasoning_summary_part.done', { ...at, summary_index: 0, part: summaryText(text) }),
        ];
      case 'mcp_call':
        return [eventOf(`response.mcp_call.${item.status === 'failed' ? 'failed' : 'completed'}`, at)];
      default:
        return item satisfies never;
    }
  };
  const done = (output_index: number, item: OutputItem): readonly ResponseEvent[] => {
    openings.delete(output_index);
    return [...endOf(output_index, item), eventOf('response.output_item.done', { output_index, item })];
  };
  return {
    eventOf,
    eventsOf(change: ItemChange): readonly ResponseEvent[] {
      switch (change.kind) {
        case 'begun':
          return begun(change.index, change.item);
        case 'grown':
          return [grown(change.index, change.text)];
        case 'done':
          return done(change.index, change.item);
        default:
          return change satisfies never;
      }
    },
  };
};

const BUG: AnswerFailure = { status: 500, code: 'internal_error', message: 'The bridge failed while it answered' };

const EVENTS = { going: 'response.in_progress', failed: 'response.failed' } as const;

const eventFor = (state: ResponseState): string => {
  if (state.kind !== 'ended') return EVENTS[state.kind];
  return state.end.finish === 'stop' ? 'response.completed' : 'response.incomplete';
};

/** How the last saying leaves the items that are still open. */
const statusAfter = (saying: Extract<OutputEvent, { kind: 'end' | 'failure' }>) =>
  saying.kind === 'end' && saying.end.finish === 'stop' ? 'completed' : 'incomplete';

/** What was thrown as a failure; nothing for a client that left, who can be told nothing. */
const failureFrom = (error: unknown): AnswerFailure | undefined => {
  if (!isBridgeFault(error)) return BUG;
  return error.detail.kind === 'client-left' ? undefined : toAnswerFailure(error.detail);
};

type EventOf = ReturnType<typeof createResponseEvents>['eventOf'];

const errorEventOf = (eventOf: EventOf, { code, message }: AnswerFailure): ResponseEvent =>
  eventOf('error', { code, message, param: null });

type Known = { readonly id: string; readonly createdSeconds: number };

/** Tells a response whose id is known. */
const createTeller = ({ id, createdSeconds }: Known, { model, echo, nowSeconds }: ResponseStart) => {
  const { eventOf, eventsOf } = createResponseEvents();
  const { take, close, items } = createOutputItems(id);
  const facts = { id, model, createdSeconds, echo };
  const told = (state: ResponseState, event = eventFor(state)): ResponseEvent =>
    eventOf(event, { response: responseObject(facts, state) });

  const eventsIn = (changes: readonly ItemChange[]): readonly ResponseEvent[] => {
    const [first] = changes;
    // Nearly always there is one, and there may be very many of them.
    return first !== undefined && changes.length === 1 ? eventsOf(first) : changes.flatMap(eventsOf);
  };
  const last = (saying: Extract<OutputEvent, { kind: 'end' | 'failure' }>): readonly ResponseEvent[] => {
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
    eventsFor: (saying: OutputEvent): readonly ResponseEvent[] =>
      saying.kind === 'end' || saying.kind === 'failure' ? last(saying) : eventsIn(take(saying)),
  };
};

type Teller = { readonly eventsFor: (saying: OutputEvent) => readonly ResponseEvent[] };

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
  sayings: AsyncIterable<OutputEvent>,
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
    throw missingEndError();
  } catch (error) {
    const failure = failureFrom(error);
    if (failure !== undefined) for (const event of eventsFor({ kind: 'failure', failure })) yield event;
    if (!(error instanceof Fault)) throw error;
  }
}
