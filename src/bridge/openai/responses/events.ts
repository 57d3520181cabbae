import type { AnswerFailure } from '../../errors.ts';
import type { EncodedEvent } from '../stream-encoder.ts';
import {
  type CustomCallItem,
  type FunctionCallItem,
  type ItemChange,
  type OpenItem,
  type OutputCallItem,
  outputText,
  type RefusalItem,
  refusalText,
  summaryText,
  type WholeItem,
} from './items.ts';

/** An event before it has a number. */
export type GivenEvent = readonly [type: string, members: object];

/**
 * The event of a failure. OpenAI describes its members beside `type`, and sends them in `error`: at that its client for Python throws,
 * which would pass the event on as any other without it.
 */
export const errorEvent = ({ code, message }: Pick<AnswerFailure, 'code' | 'message'>): GivenEvent => {
  const members = { code, message, param: null };
  return ['error', { ...members, error: { type: 'server_error', ...members } }];
};

/** Encodes the events of one response. */
export type ResponseEvents = {
  /** The first ones, before those of items. */
  readonly begin: (...given: readonly GivenEvent[]) => readonly EncodedEvent[];
  readonly eventsIn: (changes: readonly ItemChange[]) => readonly EncodedEvent[];
  /** The last ones, after those of items. */
  readonly end: (...given: readonly GivenEvent[]) => readonly EncodedEvent[];
};

const DELTAS = { message: 'response.output_text.delta', reasoning: 'response.reasoning_summary_text.delta' } as const;

/** The text of an item; of a call none. */
export const textIn = (item: OpenItem): string => {
  if (item.type === 'message') return item.content[0]?.text ?? '';
  return item.type === 'reasoning' ? (item.summary[0]?.text ?? '') : '';
};

/** Encodes events. They are numbered one after the other from `setNext` on, from 0 at first, so each has to be sent, in this order. */
export const createEventEncoder = () => {
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
  const encodeCustomCall = (output_index: number, item: CustomCallItem): readonly EncodedEvent[] => {
    const at = { item_id: item.id, output_index };
    return [
      eventOf('response.output_item.added', { output_index, item: { ...item, status: 'in_progress', input: '' } }),
      eventOf('response.custom_tool_call_input.delta', { ...at, delta: item.input }),
      eventOf('response.custom_tool_call_input.done', { ...at, input: item.input }),
      eventOf('response.output_item.done', { output_index, item }),
    ];
  };
  const encodeWhole = (index: number, item: WholeItem): readonly EncodedEvent[] => {
    switch (item.type) {
      case 'message':
        return encodeRefusal(index, item);
      case 'function_call':
        return encodeFunctionCall(index, item);
      case 'custom_tool_call':
        return encodeCustomCall(index, item);
      default:
        return item satisfies never;
    }
  };
  return {
    setNext(number: number): void {
      sequence = number;
    },
    eventOf,
    /** One change is one event or several. */
    eventsOf(change: ItemChange): readonly EncodedEvent[] {
      switch (change.kind) {
        case 'added':
          return encodeAdded(change.index, change.item);
        case 'delta':
          return [encodeDelta(change.index, change.text)];
        case 'done':
          return encodeDone(change.index, change.item);
        case 'whole':
          return encodeWhole(change.index, change.item);
        default:
          return change satisfies never;
      }
    },
  };
};
