import { parseJsonValue } from '../../../core/json.ts';
import { itemIDOfPart, partOfItemID, turnOfResponseID } from '../../ids.ts';
import { type AgentToolCall, createParagraphJoiner, type OutputEvent } from '../../output.ts';
import type { ResponseReference } from '../../request.ts';
import { customInput } from '../client-tools.ts';

type TextStatus = 'in_progress' | 'completed' | 'incomplete';

export const outputText = (text: string) => ({ type: 'output_text' as const, annotations: [], logprobs: [], text });
export const refusalText = (refusal: string) => ({ type: 'refusal' as const, refusal });
export const summaryText = (text: string) => ({ type: 'summary_text' as const, text });

/** A text of an answer. One that has just been added has no content yet. */
export const messageItem = (id: string, text: string, status: TextStatus) => ({
  id,
  type: 'message' as const,
  status,
  content: status === 'in_progress' && text === '' ? [] : [outputText(text)],
  role: 'assistant' as const,
});

/** Why there is no answer in the form that was asked for. */
const refusalItem = (id: string, text: string) => ({
  id,
  type: 'message' as const,
  status: 'completed' as const,
  content: [refusalText(text)],
  role: 'assistant' as const,
});

type ClientCallEvent = Extract<OutputEvent, { readonly kind: 'client-call' }>;

/** The call of a client's function, which the client makes. */
const functionCallItem = (id: string, { id: callID, name, input }: ClientCallEvent) => ({
  id,
  type: 'function_call' as const,
  status: 'completed' as const,
  call_id: callID ?? `call_${id}`,
  name,
  arguments: input,
});

/** The call of a client's custom tool, with its input as free text. */
const customCallItem = (id: string, { id: callID, name, input }: ClientCallEvent) => ({
  id,
  type: 'custom_tool_call' as const,
  status: 'completed' as const,
  call_id: callID ?? `call_${id}`,
  name,
  input: customInput(input),
});

/** Reasoning, as its summary: that is where every client looks for text to show. */
export const reasoningItem = (id: string, text: string, status: TextStatus) => ({
  id,
  type: 'reasoning' as const,
  status,
  summary: text === '' ? [] : [summaryText(text)],
});

type CallResult = Pick<Extract<OutputEvent, { readonly kind: 'call-end' }>, 'output' | 'isError' | 'isWaiting'> & {
  readonly approvalRequestID?: string | undefined;
};

const labelOf = (name: string): string => {
  const end = name.indexOf('_');
  return end > 0 ? name.slice(0, end) : 'agent';
};

/** Arguments that were cut off are no longer JSON, but clients parse them. */
const argumentsOf = (input: string): string =>
  parseJsonValue(input) !== undefined ? input : JSON.stringify({ cut_off: input });

const callStatus = (result: CallResult | undefined) => {
  if (result === undefined) return 'in_progress' as const;
  if (result.isWaiting === true) return 'incomplete' as const;
  return result.isError ? ('failed' as const) : ('completed' as const);
};

/**
 * A call of a tool at the agent, in the form of a call of a tool of a remote server: clients show such calls and run none of them.
 * Without a result it is in progress. One that waits for an approval is `incomplete` with the id of its request, and no
 * `mcp_approval_request`: clients end with an error at that of a server of tools which they have not named.
 */
export const callItem = (id: string, { name, input }: AgentToolCall, result: CallResult | undefined) => {
  const status = callStatus(result);
  const content = [{ type: 'text' as const, text: result?.output ?? '' }];
  return {
    id,
    type: 'mcp_call' as const,
    status,
    approval_request_id: result?.approvalRequestID ?? null,
    arguments: argumentsOf(input),
    error: status === 'failed' ? { type: 'mcp_tool_execution_error' as const, content } : null,
    name,
    output: status === 'completed' ? (result?.output ?? '') : null,
    server_label: labelOf(name),
  };
};

type CallItem = ReturnType<typeof callItem>;
type MessageItem = ReturnType<typeof messageItem> | ReturnType<typeof refusalItem>;
type ClientCallItem = ReturnType<typeof functionCallItem> | ReturnType<typeof customCallItem>;
export type OutputItem = MessageItem | ReturnType<typeof reasoningItem> | CallItem | ClientCallItem;

/** What grows in an item, which decides on its events and the prefix of its id. `call`: of a tool at the agent, which grows at once. */
const PREFIXES = {
  text: 'msg',
  refusal: 'msg',
  reasoning: 'rs',
  call: 'mcp',
  functionCall: 'fc',
  customCall: 'ctc',
} as const;
export type ItemForm = keyof typeof PREFIXES;

/**
 * Where the items of an answer are. `responseID` is in the ids of those that are no part of the agent's message. `sessionID`: undefined
 * for a text of the bridge alone. `custom`: the names of the client's custom tools.
 */
export type AnswerPlace = {
  readonly responseID: string;
  readonly sessionID: string | undefined;
  readonly custom: ReadonlySet<string>;
};

/**
 * The id of a response's item. It leads to its response, because some clients send only the ids of the items of an earlier
 * answer. `key`: the id of a part, or of a text of the bridge.
 */
const itemIDFor = (form: ItemForm, index: number, key: string, { responseID, sessionID }: AnswerPlace): string =>
  (sessionID === undefined ? undefined : itemIDOfPart(PREFIXES[form], sessionID, key)) ??
  `${PREFIXES[form]}_${index}_${responseID}`;

const OURS = /^(msg|rs|mcp|fc|ctc)_\d{1,6}_(resp_.+)$/s;

/** The response that an item belongs to, by its id or by that of the item; undefined for items of other servers. */
export const responseOfItemID = (itemID: string): ResponseReference | undefined => {
  const [, , responseID] = OURS.exec(itemID) ?? [];
  if (responseID !== undefined && turnOfResponseID(responseID) !== undefined) return { kind: 'after', responseID };
  return partOfItemID(itemID) === undefined ? undefined : { kind: 'after-item', itemID };
};

/** Whether an id, ours or of another server, is that of a message. */
export const isMessageID = (itemID: string): boolean => itemID.startsWith(`${PREFIXES.text}_`);

/**
 * A change of an item. `text`: with `delta` what it grows by, else all of what grows in it. `whole`: added and done at once. Items keep
 * their index.
 */
export type ItemChange = {
  readonly kind: 'added' | 'delta' | 'done' | 'whole';
  readonly form: ItemForm;
  readonly index: number;
  readonly item: OutputItem;
  readonly text: string;
};

type OpenText = {
  readonly form: 'text' | 'reasoning';
  readonly index: number;
  readonly item: OutputItem;
  text: string;
};

const textItem = (form: OpenText['form'], id: string, text: string, status: TextStatus) =>
  form === 'text' ? messageItem(id, text, status) : reasoningItem(id, text, status);

/** Some clients repeat a request whose response has none of these. */
const MEANINGFUL: readonly OutputItem['type'][] = ['message', 'function_call', 'custom_tool_call'];

/** Builds the items of a response from output events, for streams and for whole bodies. */
export const createOutputItems = (place: AnswerPlace) => {
  const items: OutputItem[] = [];
  const texts = new Map<string, OpenText>();
  const calls = new Map<string, { readonly index: number; readonly id: string }>();
  // Most clients show and store the joined texts, so these are separated as paragraphs.
  const beforeText = createParagraphJoiner();

  const setItem = (change: ItemChange): ItemChange => {
    items[change.index] = change.item;
    return change;
  };
  const beginText = (form: OpenText['form'], key: string): OpenText => {
    const index = items.length;
    const open = { form, index, item: textItem(form, itemIDFor(form, index, key, place), '', 'in_progress'), text: '' };
    texts.set(key, open);
    return open;
  };
  const appendText = (form: OpenText['form'], key: string, more: string): readonly ItemChange[] => {
    const known = texts.get(key);
    const open = known ?? beginText(form, key);
    const { index, item } = open;
    const text = form === 'text' ? beforeText(key) + more : more;
    open.text += text;
    const delta: ItemChange = { kind: 'delta', form, index, item, text };
    return known === undefined ? [setItem({ kind: 'added', form, index, item, text: '' }), delta] : [delta];
  };
  const endText = (key: string, status: TextStatus): readonly ItemChange[] => {
    const open = texts.get(key);
    if (open === undefined) return [];
    texts.delete(key);
    const { form, index, text } = open;
    return [setItem({ kind: 'done', form, index, item: textItem(form, open.item.id, text, status), text })];
  };
  const beginCall = (call: AgentToolCall): readonly ItemChange[] => {
    if (calls.has(call.id)) return [];
    const index = items.length;
    const id = itemIDFor('call', index, call.partID ?? '', place);
    calls.set(call.id, { index, id });
    const item = callItem(id, call, undefined);
    return [setItem({ kind: 'added', form: 'call', index, item, text: item.arguments })];
  };
  const endCall = ({ call, ...result }: Extract<OutputEvent, { kind: 'call-end' }>): readonly ItemChange[] => {
    const added = beginCall(call);
    const open = calls.get(call.id);
    calls.delete(call.id);
    if (open === undefined) return added;
    const { index, id } = open;
    return [...added, setItem({ kind: 'done', form: 'call', index, item: callItem(id, call, result), text: '' })];
  };
  const addWhole = (form: ItemForm, key: string, text: string, toItem: (id: string) => OutputItem): ItemChange => {
    const index = items.length;
    return setItem({ kind: 'whole', form, index, item: toItem(itemIDFor(form, index, key, place)), text });
  };
  return {
    applyEvent(event: OutputEvent): readonly ItemChange[] {
      switch (event.kind) {
        case 'text':
        case 'reasoning':
          return appendText(event.kind, event.id, event.text);
        case 'text-end':
        case 'reasoning-end':
          return endText(event.id, 'completed');
        case 'call':
          return beginCall(event.call);
        case 'call-end':
          return endCall(event);
        case 'refusal':
          return [addWhole('refusal', '', event.text, (id) => refusalItem(id, event.text))];
        case 'client-call': {
          const { name, input, partID = '' } = event;
          return place.custom.has(name)
            ? [addWhole('customCall', partID, customInput(input), (id) => customCallItem(id, event))]
            : [addWhole('functionCall', partID, input, (id) => functionCallItem(id, event))];
        }
        case 'end':
        case 'failure':
          return [];
        default:
          return event satisfies never;
      }
    },
    list: (): readonly OutputItem[] => items,
    /** Ends the open items. No event may be applied after that. */
    close(status: TextStatus): readonly ItemChange[] {
      const open = [...texts.keys()].flatMap((key) => endText(key, status));
      if (status === 'in_progress' || items.some(({ type }) => MEANINGFUL.includes(type))) return open;
      const { form, index, item, text } = beginText('text', '');
      return [...open, setItem({ kind: 'added', form, index, item, text }), ...endText('', status)];
    },
  };
};
