import type { EncodedEvent } from '../stream-encoder.ts';
import { errorEvent, textIn } from './events.ts';
import { type ItemChange, messageItem, type OpenItem, type OutputItem, reasoningItem } from './items.ts';
import { createRepeatableEncoder } from './repeatable.ts';
import type { ResponseObject } from './response.ts';

/** Whether nothing is added to a response any more. */
export const hasEnded = ({ status }: ResponseObject): boolean => status !== 'queued' && status !== 'in_progress';

/** An item that has begun: what its reader was sent of it. */
type BegunItem = { readonly id: string; readonly type: string; readonly sent: string; readonly isDone: boolean };

const isOpenItem = (item: OutputItem): item is OpenItem =>
  item.type !== 'function_call' && !(item.type === 'message' && item.content[0]?.type === 'refusal');

/** An item as it was when it began. */
const asBegun = (item: OpenItem): OpenItem => {
  if (item.type === 'message') return messageItem(item.id, '', 'in_progress');
  if (item.type === 'reasoning') return reasoningItem(item.id, '', 'in_progress');
  return { ...item, status: 'in_progress', approval_request_id: null, error: null, output: null };
};

const lastEventOf = ({ status }: ResponseObject): string =>
  status === 'completed' || status === 'incomplete' ? `response.${status}` : 'response.failed';

/**
 * Encodes the events of a response in the background that is read again and again, as if it was streamed: of each look those that are
 * new since the one before. Nothing up to the number `after`, and nothing of what is queued.
 */
export const createSnapshotEncoder = (after: number) => {
  const { begin, eventsIn, end, interrupted } = createRepeatableEncoder(after);
  const begun: BegunItem[] = [];
  let isBegun = false;

  const changesOf = (item: OutputItem, index: number): readonly ItemChange[] => {
    const known = begun[index];
    // The agent has taken back what was at this place: what was sent cannot be.
    if (known?.isDone === true || (known !== undefined && known.type !== item.type)) return [];
    const { id, type } = { ...item, ...known };
    if (!isOpenItem(item)) {
      begun[index] = { id, type, sent: '', isDone: true };
      return [{ kind: 'whole', index, item }];
    }
    const text = textIn(item);
    const sent = known?.sent ?? '';
    // One that the model has begun again: its end has all of it.
    const isContinued = text.startsWith(sent);
    const more = isContinued ? text.slice(sent.length) : '';
    const isDone = item.status !== 'in_progress';
    begun[index] = { id, type, sent: isContinued ? text : sent, isDone };
    return [
      ...(known === undefined ? [{ kind: 'added', index, item: asBegun(item) } as const] : []),
      ...(more === '' ? [] : [{ kind: 'delta', index, text: more } as const]),
      ...(isDone ? [{ kind: 'done', index, item: { ...item, id } } as const] : []),
    ];
  };
  const first = (response: ResponseObject): readonly EncodedEvent[] => {
    isBegun = true;
    const open = { status: 'in_progress', output: [], error: null, incomplete_details: null } as const;
    // As JSON it has none of the members that are undefined.
    const started = { ...response, ...open, completed_at: undefined, usage: undefined, gatehouse: undefined };
    return begin(['response.created', { response: started }], ['response.in_progress', { response: started }]);
  };
  const last = (response: ResponseObject): readonly EncodedEvent[] => {
    const { error } = response;
    const ended = [lastEventOf(response), { response }] as const;
    return error === null ? end(ended) : end(errorEvent(error), ended);
  };
  return {
    eventsFor(response: ResponseObject): readonly EncodedEvent[] {
      if (response.status === 'queued') return [];
      const beginning = isBegun ? [] : first(response);
      const changes = eventsIn(response.output.flatMap(changesOf));
      return [...beginning, ...changes, ...(hasEnded(response) ? last(response) : [])];
    },
    interrupted,
  };
};
