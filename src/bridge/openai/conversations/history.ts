import type { MessageRecord, PartRecord } from '../../agent/schema.ts';
import { type OutputEvent, SHOWN_CHARS } from '../../output.ts';
import { STRUCTURED_OUTPUT_CALL } from '../../stream/structured.ts';
import type { TurnSnapshot } from '../../turns/port.ts';
import { createOutputItems } from '../responses/items.ts';

/** An item of a conversation as clients get it. */
export type HistoryItem = Readonly<Record<string, unknown>> & { readonly id: string; readonly type: string };

type CallPart = Extract<PartRecord, { readonly type: 'tool' }>;

const inputID = (messageID: string): string => `msg_in0_${messageID.replace(/^msg_/, '')}`;

/** The message that has an item: by its own id, or as one of its parts. Undefined for an item that none has. */
export const messageOfItem = (itemID: string, messages: readonly MessageRecord[]): MessageRecord | undefined =>
  messages.find(
    ({ info, parts }) =>
      itemID === inputID(info.id) || parts.some(({ id }) => itemID.endsWith(`_${id.replace(/^prt_/, '')}`)),
  );

type InputContent =
  | { readonly type: 'input_text'; readonly text: string }
  | { readonly type: 'input_image'; readonly detail: 'auto'; readonly file_id: null; readonly image_url: string }
  | { readonly type: 'input_file'; readonly filename: string; readonly file_data: string };

const toContent = (part: PartRecord): readonly InputContent[] => {
  if (part.type === 'text') return part.synthetic === true ? [] : [{ type: 'input_text', text: part.text }];
  if (part.type !== 'file') return [];
  return part.mime.startsWith('image/')
    ? [{ type: 'input_image', detail: 'auto', file_id: null, image_url: part.url }]
    : [{ type: 'input_file', filename: part.filename ?? 'file', file_data: part.url }];
};

/** A message of the user; nothing for one that a client has not written. */
const itemsOfUser = ({ info, parts }: MessageRecord): readonly HistoryItem[] => {
  const content = parts.flatMap(toContent);
  if (content.length === 0) return [];
  return [{ id: inputID(info.id), type: 'message', status: 'completed', role: 'user', content }];
};

const isClientCall = ({ state }: CallPart): boolean =>
  state.status !== 'pending' && state.metadata?.clientTool === true;
const isShownCall = ({ state }: CallPart): boolean =>
  state.status !== 'pending' && !(state.status === 'error' && state.metadata?.withdrawn === true);
const callsIn = ({ parts }: MessageRecord): readonly CallPart[] =>
  parts.flatMap((part) => (part.type === 'tool' && isShownCall(part) ? [part] : []));

const argumentsOf = ({ state }: CallPart): string =>
  (state.status === 'pending' ? undefined : state.metadata?.arguments) ?? JSON.stringify(state.input);

const textEvents = (id: string, kind: 'text' | 'reasoning', text: string): readonly OutputEvent[] =>
  text === ''
    ? []
    : [
        { kind, id, text },
        { kind: `${kind}-end`, id },
      ];

const callEvents = (part: CallPart): readonly OutputEvent[] => {
  const { id: partID, callID: id, tool: name, state } = part;
  const input = argumentsOf(part);
  if (isClientCall(part)) return [{ kind: 'client-call', id, partID, name, input }];
  if (name === STRUCTURED_OUTPUT_CALL && state.status === 'completed') return textEvents(partID, 'text', input);
  const call = { id, partID, name, input: input.slice(0, SHOWN_CHARS) };
  if (state.status === 'completed')
    return [{ kind: 'call-end', call, output: state.output.slice(0, SHOWN_CHARS), isError: false }];
  return state.status === 'error'
    ? [{ kind: 'call-end', call, output: state.error.slice(0, SHOWN_CHARS), isError: true }]
    : [{ kind: 'call', call }];
};

const eventsOf = (part: PartRecord, showsReasoning: boolean): readonly OutputEvent[] => {
  if (part.type === 'tool') return isShownCall(part) ? callEvents(part) : [];
  if (part.type !== 'text' && part.type !== 'reasoning') return [];
  if (part.synthetic === true || part.ignored === true || (part.type === 'reasoning' && !showsReasoning)) return [];
  return textEvents(part.id, part.type, part.text);
};

/** The results that the client has given for the calls of a message. */
const resultsOf = (record: MessageRecord, isWanted = (_: CallPart): boolean => true): readonly HistoryItem[] =>
  callsIn(record)
    .filter((part) => isClientCall(part) && part.state.status === 'completed' && isWanted(part))
    .map(({ callID, state }) => ({
      id: `fco_${callID}`,
      type: 'function_call_output',
      status: 'completed',
      call_id: callID,
      output: state.status === 'completed' ? state.output : '',
    }));

/** The items of answers that follow one prompt, up to calls of the client. */
const itemsOfAnswer = (sessionID: string, records: readonly MessageRecord[], showsReasoning: boolean) => {
  const [first] = records;
  const items = createOutputItems({ responseID: `turn_${first?.info.id}`, sessionID, custom: new Set() });
  for (const { parts } of records)
    for (const part of parts) for (const event of eventsOf(part, showsReasoning)) items.applyEvent(event);
  return items.list();
};

/** The records in groups: each message that is no answer alone, and the steps of an answer together, up to calls of the client. */
const groupsOf = (messages: readonly MessageRecord[]): readonly (readonly MessageRecord[])[] => {
  const groups: MessageRecord[][] = [];
  for (const record of messages) {
    const { info } = record;
    const group = groups.at(-1);
    const last = group?.at(-1);
    const isNext =
      last?.info.role === 'assistant' &&
      info.role === 'assistant' &&
      last.info.parentID === info.parentID &&
      !callsIn(last).some(isClientCall);
    if (info.role === 'assistant' && info.summary === true) continue;
    if (isNext) group?.push(record);
    else groups.push([record]);
  }
  return groups;
};

/** All items of a conversation, in order: what clients sent or put there, and what the agent answered. */
export const readHistoryItems = (messages: readonly MessageRecord[], showsReasoning: boolean): readonly HistoryItem[] =>
  groupsOf(messages).flatMap((group) => {
    const [first] = group;
    const last = group.at(-1);
    if (first === undefined || last === undefined) return [];
    if (first.info.role === 'user') return itemsOfUser(first);
    return [...itemsOfAnswer(first.info.sessionID, group, showsReasoning), ...resultsOf(last)];
  });

/** What the request of a turn brought: the messages that were new, and results of the client's calls before them. */
export const itemsOfInput = (
  { messageIDs, callIDs }: Pick<TurnSnapshot, 'messageIDs' | 'callIDs'>,
  messages: readonly MessageRecord[],
): readonly HistoryItem[] => {
  const results = messages.flatMap((record) => resultsOf(record, ({ callID }) => callIDs.includes(callID)));
  return [
    ...results,
    ...readHistoryItems(
      messages.filter(({ info }) => messageIDs.includes(info.id)),
      false,
    ),
  ];
};
