import type { Change } from './openai/responses/items.ts';
import { type CallItem, type OutputItem, outputText, summaryText } from './responses-items.ts';

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
  const callBegun = (output_index: number, item: CallItem): readonly ResponseEvent[] => {
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
    eventsOf(change: Change): readonly ResponseEvent[] {
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
