import { isRecord, parseJsonValue } from '../../../core/json.ts';
import type { MessageRecord } from '../../agent/schema.ts';
import type { Prompt } from '../../agent/types.ts';

/** An item that a client has put into its conversation, in OpenAI's form without its id. */
export type StoredItem = Readonly<Record<string, unknown>> & { readonly type: string };

const OPENING = 'An earlier item of this conversation. It is context only: do not answer it.\n';

/** The message of the agent's session that holds an item, given as JSON: a text that no user wrote, so no turn begins with it. */
export const promptOfItem = (json: string, model: Prompt['model']): Prompt => ({
  parts: [{ type: 'text', text: OPENING + json, synthetic: true }],
  model,
  variant: undefined,
  agent: undefined,
  system: '',
  hasTools: true,
  isContext: true,
});

const textOfItem = ({ info, parts }: MessageRecord): string | undefined => {
  const [part] = parts;
  const isItem =
    info.role === 'user' && part?.type === 'text' && part.synthetic === true && part.text.startsWith(OPENING);
  return isItem ? part.text.slice(OPENING.length) : undefined;
};

/** Whether a message holds an item of a client. */
export const isStoredItem = (record: MessageRecord): boolean => textOfItem(record) !== undefined;

/** Whether a message holds this very item, given as JSON. */
export const holdsItem = (record: MessageRecord, json: string): boolean => textOfItem(record) === json;

/** The item that a message holds; undefined for any other message. */
export const readStoredItem = (record: MessageRecord): StoredItem | undefined => {
  const text = textOfItem(record);
  const item = text === undefined ? undefined : parseJsonValue(text);
  return isRecord(item) && typeof item.type === 'string' ? { ...item, type: item.type } : undefined;
};
