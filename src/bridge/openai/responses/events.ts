import type { AnswerFailure } from '../../errors.ts';
import type { EncodedEvent } from '../endpoint.ts';
import { type ItemChange, type ItemForm, outputText, refusalText, summaryText } from './items.ts';

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

/** The events of what grows in an item: their name, the member that grows, and where it is. `empty`: the item when it is added. */
type GrowingForm = {
  readonly name: string;
  readonly member: string;
  readonly empty: object;
  readonly place?: object;
  readonly part?: { readonly name: string; readonly of: (text: string) => object };
  /** More members of its events. */
  readonly more?: object;
};

const CONTENT = { empty: { content: [] }, place: { content_index: 0 } };
const FORMS: Readonly<Record<ItemForm, GrowingForm>> = {
  text: {
    ...CONTENT,
    name: 'output_text',
    member: 'text',
    part: { name: 'content_part', of: outputText },
    more: { logprobs: [] },
  },
  refusal: { ...CONTENT, name: 'refusal', member: 'refusal', part: { name: 'content_part', of: refusalText } },
  reasoning: {
    name: 'reasoning_summary_text',
    member: 'text',
    empty: {},
    place: { summary_index: 0 },
    part: { name: 'reasoning_summary_part', of: summaryText },
  },
  call: { name: 'mcp_call_arguments', member: 'arguments', empty: { arguments: '' } },
  functionCall: { name: 'function_call_arguments', member: 'arguments', empty: { arguments: '' } },
  customCall: { name: 'custom_tool_call_input', member: 'input', empty: { input: '' } },
};

const partEvent = (what: 'added' | 'done', { form, index, item, text }: ItemChange): readonly GivenEvent[] => {
  const { part, place } = FORMS[form];
  if (part === undefined) return [];
  const members = { item_id: item.id, output_index: index, ...place, part: part.of(what === 'done' ? text : '') };
  return [[`response.${part.name}.${what}`, members]];
};

const itemEvent = (what: 'added' | 'done', output_index: number, item: object): GivenEvent => [
  `response.output_item.${what}`,
  { output_index, item },
];

const deltaEvent = ({ form, index, item, text }: ItemChange): GivenEvent => {
  const { name, place, more } = FORMS[form];
  return [`response.${name}.delta`, { item_id: item.id, output_index: index, ...place, ...more, delta: text }];
};

const doneEvent = ({ form, index, item, text }: ItemChange): GivenEvent => {
  const { name, member, place, more } = FORMS[form];
  const called = item.type === 'function_call' ? { name: item.name } : {};
  return [
    `response.${name}.done`,
    { item_id: item.id, output_index: index, ...place, ...more, ...called, [member]: text },
  ];
};

/** Clients build an item from the events that follow its first one. */
const addedEvents = (change: ItemChange): readonly GivenEvent[] => [
  itemEvent('added', change.index, { ...change.item, status: 'in_progress', ...FORMS[change.form].empty }),
  ...partEvent('added', change),
];

const doneEvents = (change: ItemChange): readonly GivenEvent[] => [
  doneEvent(change),
  ...partEvent('done', change),
  itemEvent('done', change.index, change.item),
];

/** A call of the agent has all of its arguments when it is added. There is no event for one that waits: it is done, and not complete. */
const agentCallEvents = (change: ItemChange): readonly GivenEvent[] => {
  const { kind, index: output_index, item } = change;
  const at = { item_id: item.id, output_index };
  if (kind === 'added')
    return [...addedEvents(change), ['response.mcp_call.in_progress', at], deltaEvent(change), doneEvent(change)];
  const how = item.status === 'failed' ? 'failed' : 'completed';
  const ended: readonly GivenEvent[] = item.status === 'incomplete' ? [] : [[`response.mcp_call.${how}`, at]];
  return [...ended, itemEvent('done', output_index, item)];
};

const changeEvents = (change: ItemChange): readonly GivenEvent[] => {
  if (change.form === 'call') return agentCallEvents(change);
  switch (change.kind) {
    case 'added':
      return addedEvents(change);
    case 'delta':
      return [deltaEvent(change)];
    case 'done':
      return doneEvents(change);
    case 'whole':
      return [...addedEvents(change), deltaEvent(change), ...doneEvents(change)];
    default:
      return change.kind satisfies never;
  }
};

/** Events with their numbers, from `first` on. Only those that may be long are written in steps. */
export const encodeEvents = (given: readonly GivenEvent[], first: number): readonly EncodedEvent[] =>
  given.map(([event, members], index) => {
    const value = { type: event, sequence_number: first + index, ...members };
    return event.endsWith('.delta') ? { event, data: JSON.stringify(value) } : { event, value };
  });

/** The events of a change, numbered from `first` on. */
export const encodeChange = (change: ItemChange, first: number): readonly EncodedEvent[] =>
  encodeEvents(changeEvents(change), first);
