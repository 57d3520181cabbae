import { parseJsonValue } from '../../../core/json.ts';
import { type AgentToolCall, createParagraphJoiner, type OutputEvent } from '../../output.ts';

export type TextStatus = 'in_progress' | 'completed' | 'incomplete';

export const outputText = (text: string) => ({ type: 'output_text' as const, annotations: [], logprobs: [], text });
export const summaryText = (text: string) => ({ type: 'summary_text' as const, text });

/** A text of an answer. One that has only just begun has no content yet. */
export const messageItem = (id: string, text: string, status: TextStatus) => ({
  id,
  type: 'message' as const,
  status,
  content: status === 'in_progress' && text === '' ? [] : [outputText(text)],
  role: 'assistant' as const,
});

/** Reasoning, told as its summary: that is the one place where every client looks for words that may be shown. */
export const reasoningItem = (id: string, text: string, status: TextStatus) => ({
  id,
  type: 'reasoning' as const,
  status,
  summary: text === '' ? [] : [summaryText(text)],
});

export type CallResult = { readonly output: string; readonly isError: boolean };

const labelOf = (name: string): string => {
  const end = name.indexOf('_');
  return end > 0 ? name.slice(0, end) : 'agent';
};

/** Arguments that were cut off are no JSON any more, and clients parse them. */
const argumentsOf = (input: string): string =>
  parseJsonValue(input) !== undefined ? input : JSON.stringify({ cut_off: input });

/**
 * A call of a tool at the agent, told as a call of a tool of a remote server: clients show such calls and run none of them.
 * Without a result it is in progress.
 */
export const callItem = (id: string, { name, input }: AgentToolCall, result: CallResult | undefined) => ({
  id,
  type: 'mcp_call' as const,
  status:
    result === undefined ? ('in_progress' as const) : result.isError ? ('failed' as const) : ('completed' as const),
  approval_request_id: null,
  arguments: argumentsOf(input),
  error:
    result?.isError === true
      ? { type: 'mcp_tool_execution_error' as const, content: [{ type: 'text' as const, text: result.output }] }
      : null,
  name,
  output: result === undefined || result.isError ? null : result.output,
  server_label: labelOf(name),
});

export type MessageItem = ReturnType<typeof messageItem>;
export type ReasoningItem = ReturnType<typeof reasoningItem>;
export type OutputCallItem = ReturnType<typeof callItem>;
export type OutputItem = MessageItem | ReasoningItem | OutputCallItem;

const PREFIXES = { message: 'msg', reasoning: 'rs', call: 'mcp' } as const;

export type ItemKind = keyof typeof PREFIXES;

/**
 * The id of a response's item. It holds the response's id, because some clients send nothing of an earlier answer but the ids of
 * its items.
 */
export const itemIDOf = (kind: ItemKind, index: number, responseID: string): string =>
  `${PREFIXES[kind]}_${index}_${responseID}`;

const OURS = /^(msg|rs|mcp)_\d{1,6}_(resp_.+)$/s;

/** The response that an item of ours belongs to; nothing for items of others. */
export const responseIDIn = (itemID: string): string | undefined => OURS.exec(itemID)?.[2];

/** Whether an id, ours or not, is that of a message. */
export const isMessageID = (itemID: string): boolean => itemID.startsWith(`${PREFIXES.message}_`);

/** What a saying does to a response's items. An item keeps the index that it began with. */
export type ItemChange =
  | { readonly kind: 'begun'; readonly index: number; readonly item: OutputItem }
  | { readonly kind: 'grown'; readonly index: number; readonly text: string }
  | { readonly kind: 'done'; readonly index: number; readonly item: OutputItem };

export type OutputItems = {
  readonly take: (saying: OutputEvent) => readonly ItemChange[];
  readonly items: () => readonly OutputItem[];
  /** Ends what was left open. There is nothing to take after that. */
  readonly close: (status: TextStatus) => readonly ItemChange[];
};

type TextKind = 'text' | 'reasoning';
type OpenText = { readonly kind: TextKind; readonly index: number; readonly id: string; text: string };
type OpenCall = { readonly index: number; readonly id: string };

const textItem = ({ kind, id, text }: OpenText, status: TextStatus): OutputItem =>
  kind === 'text' ? messageItem(id, text, status) : reasoningItem(id, text, status);

/** Makes the items of a response from what is said, whether that is streamed or not. */
export const createOutputItems = (responseID: string): OutputItems => {
  const items: OutputItem[] = [];
  const texts = new Map<string, OpenText>();
  const calls = new Map<string, OpenCall>();
  // The texts put together read as paragraphs, because that is how most clients show an answer and keep it.
  const beforeText = createParagraphJoiner();

  const put = (kind: 'begun' | 'done', index: number, item: OutputItem): ItemChange => {
    items[index] = item;
    return { kind, index, item };
  };
  const beginText = (key: string, kind: TextKind): ItemChange => {
    const index = items.length;
    const id = itemIDOf(kind === 'text' ? 'message' : 'reasoning', index, responseID);
    const open = { kind, index, id, text: '' };
    texts.set(key, open);
    return put('begun', index, textItem(open, 'in_progress'));
  };
  const growText = (kind: TextKind, key: string, more: string): readonly ItemChange[] => {
    const begun = texts.has(key) ? [] : [beginText(key, kind)];
    const open = texts.get(key);
    if (open === undefined) return begun;
    const text = kind === 'text' ? beforeText(key) + more : more;
    open.text += text;
    return [...begun, { kind: 'grown', index: open.index, text }];
  };
  const endText = (key: string, status: TextStatus): readonly ItemChange[] => {
    const open = texts.get(key);
    texts.delete(key);
    return open === undefined ? [] : [put('done', open.index, textItem(open, status))];
  };
  const beginCall = (call: AgentToolCall): readonly ItemChange[] => {
    if (calls.has(call.id)) return [];
    const index = items.length;
    const id = itemIDOf('call', index, responseID);
    calls.set(call.id, { index, id });
    return [put('begun', index, callItem(id, call, undefined))];
  };
  const endCall = ({ call, output, isError }: Extract<OutputEvent, { kind: 'call-end' }>): readonly ItemChange[] => {
    const begun = beginCall(call);
    const open = calls.get(call.id);
    calls.delete(call.id);
    return open === undefined
      ? begun
      : [...begun, put('done', open.index, callItem(open.id, call, { output, isError }))];
  };
  return {
    take(saying) {
      switch (saying.kind) {
        case 'text':
        case 'reasoning':
          return growText(saying.kind, saying.id, saying.text);
        case 'text-end':
        case 'reasoning-end':
          return endText(saying.id, 'completed');
        case 'call':
          return beginCall(saying.call);
        case 'call-end':
          return endCall(saying);
        case 'end':
        case 'failure':
          return [];
        default:
          return saying satisfies never;
      }
    },
    items: () => items,
    close: (status) => {
      const open = [...texts.keys()].flatMap((key) => endText(key, status));
      // Without a message some clients ask again, and others take what went wrong for something to be tried once more.
      if (status === 'in_progress' || items.some(({ type }) => type === 'message')) return open;
      return [...open, beginText('', 'text'), ...endText('', status)];
    },
  };
};
