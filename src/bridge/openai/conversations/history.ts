import type { Steps } from '../../../core/time-slices.ts';
import type { MessageRecord, PartRecord } from '../../agent/schema.ts';
import type { StoredExchange } from '../../conversation/record.ts';
import { responseIDFor } from '../../conversation/response-id.ts';
import { answersIn } from '../../conversation/stored/continued.ts';
import { readStoredItem } from '../../conversation/stored/items.ts';
import { promptIDsOfUsers, readReplay } from '../../conversation/transcript.ts';
import { type AnswerPlace, outputText } from '../responses/items.ts';
import { itemsOfTurn } from '../responses/rebuild/rebuild.ts';

/** An item of a conversation as clients get it. */
export type HistoryItem = Readonly<Record<string, unknown>> & { readonly id: string; readonly type: string };

const PREFIXES: Readonly<Record<string, string>> = {
  function_call: 'fc',
  function_call_output: 'fco',
  mcp_call: 'mcp',
  reasoning: 'rs',
};

/** The id of an item that a client has put there: it holds that of the agent's message, so that it stays the same. */
const itemIDOf = (type: string, messageID: string): string =>
  `${PREFIXES[type] ?? 'msg'}_item_${messageID.replace(/^msg_/, '')}`;

const ITEM_ID = /^(?:msg|fc|fco|mcp|rs)_item_(\w{1,190})$/;

/** The agent's message of an item that a client has put there; undefined for items of prompts and answers. */
export const messageOfItem = (itemID: string): string | undefined => {
  const [, id] = ITEM_ID.exec(itemID) ?? [];
  return id === undefined ? undefined : `msg_${id}`;
};

/** The item of a message that was just stored or is read; undefined for any other message. */
export const toStoredHistoryItem = (record: MessageRecord): HistoryItem | undefined => {
  const item = readStoredItem(record);
  return item && { id: itemIDOf(item.type, record.info.id), ...item };
};

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

/** What a client sent with one prompt: the earlier messages that were new to the session, and the prompt itself. */
export const itemsOfPrompt = ({ info, parts }: MessageRecord): readonly HistoryItem[] => {
  const idAt = (index: number): string => `msg_in${index}_${info.id.replace(/^msg_/, '')}`;
  const message = { type: 'message' as const, status: 'completed' as const };
  const replayed = parts.flatMap(readReplay);
  const earlier = replayed.map(({ role, text }, index) => ({
    id: idAt(index),
    ...message,
    role,
    content: [role === 'user' ? { type: 'input_text' as const, text } : outputText(text)],
  }));
  const content = parts.flatMap(toContent);
  return [...earlier, { id: idAt(replayed.length), ...message, role: 'user' as const, content }];
};

type ConversationHistory = {
  readonly sessionID: string;
  readonly exchanges: readonly StoredExchange[];
  readonly messages: readonly MessageRecord[];
  readonly showsReasoning: boolean;
};

/** All items of a conversation, in order: what was put there, the prompts, and what the agent answered. */
export function* readHistoryItems(history: ConversationHistory): Steps<readonly HistoryItem[]> {
  const { sessionID, exchanges, messages, showsReasoning } = history;
  const prompts = promptIDsOfUsers(messages, new Set(exchanges.map(({ promptID }) => promptID)));
  const placesOf = (promptID: string): ((answersBefore: number) => AnswerPlace) => {
    const answers = answersIn(exchanges, promptID);
    return (index) => {
      const token = answers[index]?.token ?? '';
      return { sessionID, responseID: token === '' ? `turn${index}_${promptID}` : responseIDFor(sessionID, token) };
    };
  };
  const items: HistoryItem[] = [];
  let turn: MessageRecord[] = [];
  const endTurn = (): void => {
    const [prompt] = turn;
    if (prompt !== undefined)
      items.push(...itemsOfPrompt(prompt), ...itemsOfTurn(turn, placesOf(prompt.info.id), showsReasoning));
    turn = [];
  };
  for (const record of messages) {
    const stored = toStoredHistoryItem(record);
    if (stored === undefined && !prompts.has(record.info.id)) {
      if (turn.length > 0) turn.push(record);
      continue;
    }
    endTurn();
    if (stored === undefined) turn.push(record);
    else items.push(stored);
    yield;
  }
  endTurn();
  return items;
}
