import { createJoiner } from '../../joiner.ts';
import { itemIDOf } from '../../responses-ids.ts';
import { callItem, messageItem, type OutputItem, reasoningItem, type TextStatus } from '../../responses-items.ts';
import type { Saying, ToolCall } from '../../turn/output.ts';

/** What a saying does to a response's items. An item keeps the index that it began with. */
export type Change =
  | { readonly kind: 'begun'; readonly index: number; readonly item: OutputItem }
  | { readonly kind: 'grown'; readonly index: number; readonly text: string }
  | { readonly kind: 'done'; readonly index: number; readonly item: OutputItem };

export type Output = {
  readonly take: (saying: Saying) => readonly Change[];
  readonly items: () => readonly OutputItem[];
  /** Ends what was left open. There is nothing to take after that. */
  readonly close: (status: TextStatus) => readonly Change[];
};

type TextKind = 'text' | 'reasoning';
type OpenText = { readonly kind: TextKind; readonly index: number; readonly id: string; text: string };
type OpenCall = { readonly index: number; readonly id: string };

const textItem = ({ kind, id, text }: OpenText, status: TextStatus): OutputItem =>
  kind === 'text' ? messageItem(id, text, status) : reasoningItem(id, text, status);

/** Makes the items of a response from what is said, whether that is streamed or not. */
export const createOutput = (responseID: string): Output => {
  const items: OutputItem[] = [];
  const texts = new Map<string, OpenText>();
  const calls = new Map<string, OpenCall>();
  // The texts put together read as paragraphs, because that is how most clients show an answer and keep it.
  const beforeText = createJoiner();

  const put = (kind: 'begun' | 'done', index: number, item: OutputItem): Change => {
    items[index] = item;
    return { kind, index, item };
  };
  const beginText = (key: string, kind: TextKind): Change => {
    const index = items.length;
    const id = itemIDOf(kind === 'text' ? 'message' : 'reasoning', index, responseID);
    const open = { kind, index, id, text: '' };
    texts.set(key, open);
    return put('begun', index, textItem(open, 'in_progress'));
  };
  const growText = (kind: TextKind, key: string, more: string): readonly Change[] => {
    const begun = texts.has(key) ? [] : [beginText(key, kind)];
    const open = texts.get(key);
    if (open === undefined) return begun;
    const text = kind === 'text' ? beforeText(key) + more : more;
    open.text += text;
    return [...begun, { kind: 'grown', index: open.index, text }];
  };
  const endText = (key: string, status: TextStatus): readonly Change[] => {
    const open = texts.get(key);
    texts.delete(key);
    return open === undefined ? [] : [put('done', open.index, textItem(open, status))];
  };
  const beginCall = (call: ToolCall): readonly Change[] => {
    if (calls.has(call.id)) return [];
    const index = items.length;
    const id = itemIDOf('call', index, responseID);
    calls.set(call.id, { index, id });
    return [put('begun', index, callItem(id, call, undefined))];
  };
  const endCall = ({ call, output, isError }: Extract<Saying, { kind: 'call-end' }>): readonly Change[] => {
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
