import * as v from 'valibot';
import { isRecord } from '../../../core/json.ts';
import { invalidValue, missingMember, unsupportedValue, wrongType } from '../../request.ts';
import type { SentMessage } from '../../turns/port.ts';
import { parseMember, refuseTooMany } from '../body.ts';
import { textPart } from '../content.ts';
import { type DialogueEntry, toMessages } from '../dialogue.ts';
import { parseInputItem } from '../responses/input.ts';

/** As many as OpenAI takes at a time. */
const ITEMS_LIMIT = 20;
const KEPT: readonly unknown[] = ['message', 'function_call', 'function_call_output', 'reasoning', 'mcp_call'];
const Reasoning = v.object({ summary: v.nullish(v.array(v.object({ text: v.string() }))) });

const TEXTS: readonly unknown[] = ['input_text', 'output_text', 'text', 'refusal'];

/** The agent takes files with a request alone. */
const refuseFiles = (parts: unknown, at: string): void => {
  const found = (Array.isArray(parts) ? parts : []).findIndex((part) => isRecord(part) && !TEXTS.includes(part.type));
  if (found === -1) return;
  const next = 'Send images and files with a request for a response in this conversation';
  throw unsupportedValue(`${at}[${found}].type`, `an item holds texts. ${next}`);
};

/** The member without which an item of a type says nothing. */
const NEEDED: ReadonlyMap<unknown, string> = new Map([
  ['message', 'content'],
  ['function_call_output', 'output'],
]);

/** Only instructions of a request are instructions: here they count as the user's. */
const asKept = (entry: DialogueEntry): DialogueEntry =>
  entry.kind === 'instruction' ? { ...entry, kind: 'user' } : entry;

/** An item as the messages that it is. */
const parseNewItem = (item: unknown, at: string, newID: () => string): readonly SentMessage[] => {
  if (!isRecord(item)) throw wrongType(at, 'Object');
  const type = item.type ?? (item.role === undefined ? undefined : 'message');
  if (!KEPT.includes(type)) throw unsupportedValue(`${at}.type`, `items that are kept here are ${KEPT.join(', ')}`);
  if (type === 'reasoning') {
    const { summary } = parseMember(Reasoning, item, at);
    return [{ role: 'assistant', reasoning: (summary ?? []).map(({ text }) => text).join('\n\n') }];
  }
  const needed = NEEDED.get(type);
  if (needed !== undefined && item[needed] === undefined) throw missingMember(`${at}.${needed}`);
  for (const name of ['content', 'output']) refuseFiles(item[name], `${at}.${name}`);
  // A call of a server of tools may be one of ours, and is another one here.
  const entries = [parseInputItem(type === 'mcp_call' ? { ...item, id: newID() } : item, at)].flat();
  const messages = toMessages(entries.map(asKept));
  if (messages.length > 0) return messages;
  return [item.role === 'assistant' ? { role: 'assistant', text: '' } : { role: 'user', parts: [textPart('')] }];
};

/** The items that a client puts into a conversation, as messages. `newID`: of a call without one. Faults with `bad-input`. */
export const parseNewItems = (items: unknown, newID: () => string): readonly SentMessage[] => {
  if (!Array.isArray(items)) throw wrongType('items', 'an array');
  if (items.length > ITEMS_LIMIT) throw invalidValue('items', `expected at most ${ITEMS_LIMIT} of them`);
  refuseTooMany(items, 'items', ['content', 'output', 'summary']);
  return items.flatMap((item: unknown, index) => parseNewItem(item, `items[${index}]`, newID));
};
