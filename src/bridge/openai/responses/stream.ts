import { type AnswerFailure, isBridgeFault, toAnswerFailure } from '../../errors.ts';
import type { OutputEvent } from '../../output.ts';
import type { EncodedEvent, StreamEncoder } from '../stream-encoder.ts';
import {
  createOutputItems,
  type FunctionCallItem,
  type ItemChange,
  type OpenItem,
  type OutputCallItem,
  outputText,
  placeOfResponse,
  type RefusalItem,
  refusalText,
  summaryText,
} from './items.ts';
import { isCompleted, type ResponseStart, type ResponseState, toResponseObject } from './response.ts';

const DELTAS = { message: 'response.output_text.delta', reasoning: 'response.reasoning_summary_text.delta' } as const;

const textIn = (item: OpenItem): string => {
  if (item.type === 'message') return item.content[0]?.text ?? '';
  return item.type === 'reasoning' ? (item.summary[0]?.text ?? '') : '';
};

/** Encodes the events of a response. They are numbered, so each has to be sent, in this order. */
const createEventEncoder = () => {
  let sequence = 0;
  /** The beginning of the deltas of an item, by its index: the same for all of them. */
  const openings = new Map<number, { readonly event: string; readonly start: string }>();

  const eventOf = (type: string, members: object): EncodedEvent => {
    const value = { type, sequence_number: sequence, ...members };
    sequence += 1;
    return { event: type, value };
  };
  const storeOpening = (index: number, item: OpenItem): void => {
    if (item.type === 'mcp_call') return;
    const event = DELTAS[item.type];
    const place = item.type === 'message' ? { content_index: 0, logprobs: [] } : { summary_index: 0 };
    const members = JSON.stringify({ type: event, item_id: item.id, output_index: index, ...place });
    openings.set(index, { event, start: `${members.slice(0, -1)},"delta":` });
  };
  const encodeDelta = (index: number, text: string): EncodedEvent => {
    const { event, start } = openings.get(index) ?? { event: '', start: '' };
    const data = `${start}${JSON.stringify(text)},"sequence_number":${sequence}}`;
    sequence += 1;
    return { event, data };
  };
  const encodeCallAdded = (output_index: number, item: OutputCallItem): readonly EncodedEvent[] => {
    const at = { item_id: item.id, output_index };
    return [
      // Clients build the arguments from the deltas that follow.
      eventOf('response.output_item.added', { output_index, item: { ...item, arguments: '' } }),
      eventOf('response.mcp_call.in_progress', at),
      eventOf('response.mcp_call_arguments.delta', { ...at, delta: item.arguments }),
      eventOf('response.mcp_call_arguments.done', { ...at, arguments: item.arguments }),
    ];
  };
  const encodeAdded = (output_index: number, item: OpenItem): readonly EncodedEvent[] => {
    if (item.type === 'mcp_call') return encodeCallAdded(output_index, item);
    storeOpening(output_index, item);
    const at = { item_id: item.id, output_index };
    return [
      eventOf('response.output_item.added', { output_index, item }),
      item.type === 'message'
        ? eventOf('response.content_part.added', { ...at, content_index: 0, part: outputText('') })
        : eventOf('response.reasoning_summary_part.added', { ...at, summary_index: 0, part: summaryText('') }),
    ];
  };
  const endOf = (output_index: number, item: OpenItem): readonly EncodedEvent[] => {
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
        // There is no event for one that waits: its item is done, and not complete.
        return item.status === 'incomplete'
          ? []
          : [eventOf(`response.mcp_call.${item.status === 'failed' ? 'failed' : 'completed'}`, at)];
      default:
        return item satisfies never;
    }
  };
  const encodeDone = (output_index: number, item: OpenItem): readonly EncodedEvent[] => {
    openings.delete(output_index);
    return [...endOf(output_index, item), eventOf('response.output_item.done', { output_index, item })];
  };
  const encodeRefusal = (output_index: number, item: RefusalItem): readonly EncodedEvent[] => {
    const at = { item_id: item.id, output_index, content_index: 0 };
    const { refusal } = item.content[0] ?? refusalText('');
    return [
      eventOf('response.output_item.added', { output_index, item: { ...item, status: 'in_progress', content: [] } }),
      eventOf('response.content_part.added', { ...at, part: refusalText('') }),
      eventOf('response.refusal.delta', { ...at, delta: refusal }),
      eventOf('response.refusal.done', { ...at, refusal }),
      eventOf('response.content_part.done', { ...at, part: refusalText(refusal) }),
      eventOf('response.output_item.done', { output_index, item }),
    ];
  };
  const encodeFunctionCall = (output_index: number, item: FunctionCallItem): readonly EncodedEvent[] => {
    const at = { item_id: item.id, output_index };
    return [
      eventOf('response.output_item.added', { output_index, item: { ...item, status: 'in_progress', arguments: '' } }),
      eventOf('response.function_call_arguments.delta', { ...at, delta: item.arguments }),
      eventOf('response.function_call_arguments.done', { ...at, name: item.name, arguments: item.arguments }),
      eventOf('response.output_item.done', { output_index, item }),
    ];
  };
  return {
    eventOf,
    eventsOf(change: ItemChange): readonly EncodedEvent[] {
      switch (change.kind) {
        case 'added':
          return encodeAdded(change.index, change.item);
        case 'delta':
          return [encodeDelta(change.index, change.text)];
        case 'done':
          return encodeDone(change.index, change.item);
        case 'whole':
          return change.item.type === 'message'
            ? encodeRefusal(change.index, change.item)
            : encodeFunctionCall(change.index, change.item);
        default:
          return change satisfies never;
      }
    },
  };
};

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

type EventOf = ReturnType<typeof createEventEncoder>['eventOf'];

const toErrorEvent = (eventOf: EventOf, { code, message }: AnswerFailure): EncodedEvent =>
  eventOf('error', { code, message, param: null });

/** Writes the events of a response whose id is known. */
const createResponseWriter = (id: string, { model, echo, createdSeconds, nowSeconds }: ResponseStart) => {
  const { eventOf, eventsOf } = createEventEncoder();
  const items = createOutputItems(placeOfResponse(id));
  const facts = { id, model, createdSeconds, echo };
  const responseEvent = (state: ResponseState, event = eventFor(state)): EncodedEvent =>
    eventOf(event, { response: toResponseObject(facts, state) });

  const eventsIn = (changes: readonly ItemChange[]): readonly EncodedEvent[] => {
    const [first] = changes;
    // The fast path: nearly every output event is one change.
    return first !== undefined && changes.length === 1 ? eventsOf(first) : changes.flatMap(eventsOf);
  };
  const last = (event: Extract<OutputEvent, { kind: 'end' | 'failure' }>): readonly EncodedEvent[] => {
    const closing = eventsIn(items.close(statusOfOpenItems(event)));
    const output = items.list();
    if (event.kind === 'end')
      return [...closing, responseEvent({ kind: 'ended', output, end: event.end, endedSeconds: nowSeconds() })];
    // All clients understand the first of the two; some ignore `response.failed`.
    const error = toErrorEvent(eventOf, event.failure);
    return [...closing, error, responseEvent({ kind: 'failed', output, failure: event.failure })];
  };
  return {
    first(): readonly EncodedEvent[] {
      const running: ResponseState = { kind: 'running', output: [] };
      return [responseEvent(running, 'response.created'), responseEvent(running)];
    },
    eventsFor: (event: OutputEvent): readonly EncodedEvent[] =>
      event.kind === 'end' || event.kind === 'failure' ? last(event) : eventsIn(items.applyEvent(event)),
  };
};

type EventWriter = { readonly eventsFor: (event: OutputEvent) => readonly EncodedEvent[] };

/** Writes only the error of an answer that never started, as there is no response. */
const createFailureWriter = (): EventWriter => {
  const { eventOf } = createEventEncoder();
  return {
    eventsFor: (event) => (event.kind === 'failure' ? [toErrorEvent(eventOf, event.failure)] : []),
  };
};

/**
 * Encodes the events of a streamed response. A failure is its last two events: `error`, and `response.failed` if the response
 * had started.
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
      return failure === undefined ? [] : writer.eventsFor({ kind: 'failure', failure });
    },
    // Every event of a response has a meaning, so there is none without content.
    empty: () => undefined,
  };
};
